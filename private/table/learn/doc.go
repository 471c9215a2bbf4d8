// Package learn fits a logistic regression to private rows and releases it with noise.
//
// The one idea is that a ridge makes the best coefficients steady. What is minimised is
//
//	J_D(θ) = Σ_{i∈D} ℓ(θ; x_i, y_i) + ½Λ‖θ‖²
//
// with features of norm at most 1, and Λ fixed beforehand; it is a sum, not an average, so
// that the number of rows, which is private, is nowhere divided by. The minimum moves by
// little when a row comes or goes, and noise in proportion hides that. This is output
// perturbation (Chaudhuri, Monteleoni, Sarwate 2011, section 3; Wu, Li, Kumar, Chaudhuri,
// Jha, Naughton 2017 for solvers that stop early). Objective perturbation is not offered:
// its proof is about the exact minimum of a noisy objective.
//
// # Theorem
//
// [Train] has the event that [Settings.Event] names, gaussian(σ) or laplace(b), under the
// adjacency and for the unit of the settings, over all tables of at most [Settings.Most]
// rows.
//
// Proof. (1) Features. Every column gives one entry of absolute value at most s, and the
// constant one more; m·s² ≤ 1 for these m entries, in exact arithmetic on the floating
// point numbers that are used. So ‖x‖ ≤ 1, whatever the row is.
//
// (2) The gradient of one row's loss is (σ(θ·x)−y)·x with two classes, of norm at most
// L = 1; with K classes it is (p−e_y)⊗x, of norm at most L = √2.
//
// (3) The minimum. Let D' be D and a unit with at most c rows, and θ, θ' the two minima.
// ∇J_D(θ') = ∇J_D'(θ') − Σ∇ℓ = −Σ∇ℓ over the c rows, of norm at most cL. J_D is Λ-strongly
// convex, so ‖θ'−θ‖ ≤ ‖∇J_D(θ')−∇J_D(θ)‖/Λ ≤ cL/Λ. This is Lemma 7 of Chaudhuri et al.
// without its division by n. An exchanged unit goes and another comes: 2cL/Λ.
//
// (4) What runs stops at some θ̂ with ‖∇J(θ̂)‖ ≤ τ, so ‖θ̂−θ‖ ≤ τ/Λ by strong convexity,
// on either side: the vectors that are noised differ by at most Δ = (cL+2τ)/Λ. The
// gradient that is computed must be at most τ less a bound on its own rounding error for
// every table (logit.Limits). τ is 0.001, or five times that bound if this is more; plain
// descent, which takes over if Newton's method does not get there, then always ends (see
// logit.Problem.Descend). So there is no outcome "did not converge", which would tell
// something of the rows.
//
// (5) Each coordinate of θ̂ is rounded to a grid, which adds at most √d steps to Δ
// (noise.Grid.RoundedL2). Then noise of σ·Δ, or, as the ℓ1 norm is at most √d times ℓ2, of
// b·√d·Δ, is added exactly (noise.RoundedGaussian, noise.RoundedLaplace). What becomes of
// the noisy coefficients is post-processing.
//
// (6) Units. Of each unit the first c rows are used, in the order of the source: which
// these are depends on the unit's own rows alone. Units are known by keyed hashes of 64
// bits; two that collide count as one.
//
// # What is not hidden
//
// How long it takes depends on the rows. A table of more than [Settings.Most] rows is
// refused, which tells that it is so large: 64 times the declared size.
package learn
