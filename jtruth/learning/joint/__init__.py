"""Posteriors of labelers, classifier and labels together, by Gibbs and by a random effect."""
