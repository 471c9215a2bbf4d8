// Package beam runs profiles and perturbations of tables as Apache Beam pipelines.
package beam
