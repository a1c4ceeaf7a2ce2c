"""Latent-class models whose error rates are not known, as pure log densities, and samplers for them.

A model is a few arrays and two functions: the log prior of its coordinates, and the `Channel` that they mean
(how likely each class, each level inside a class, and each label there is). `density` turns channels and
`rows` (equal samples merged) into log p(row, class, level | parameters), which everything else follows from.
`models` are short files, `infer` are samplers that know coordinates only.
"""
