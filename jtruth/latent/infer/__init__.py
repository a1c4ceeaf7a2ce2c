"""Samplers of latent-class models."""
