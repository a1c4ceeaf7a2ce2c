"""Posterior modes of models whose parameters are continuous scales or belong to single samples."""
