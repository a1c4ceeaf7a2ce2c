"""Posteriors of labelers, classifier and labels together."""
