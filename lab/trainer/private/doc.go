// Package private fits a logistic regression to rows with noise, so that it is
// differentially private. Suites measure it as a baseline.
//
// A ridge makes the best coefficients steady. What is minimised is
//
//	J_D(θ) = Σ_{i∈D} ℓ(θ; x_i, y_i) + ½Λ‖θ‖² + b·θ
//
// with features of norm at most 1, and Λ fixed beforehand; it is a sum, not an average, so
// that the number of rows, which is private, is nowhere divided by. There are two places
// for noise:
//
//   - [Output]: b = 0, and noise on the coefficients (Chaudhuri, Monteleoni, Sarwate 2011,
//     section 3; Wu, Li, Kumar, Chaudhuri, Jha, Naughton 2017 for solvers that stop early).
//   - [Objective]: normal noise b in the objective (Chaudhuri et al., section 3; Kifer,
//     Smith, Thakurta 2012; Redberg, Koskela, Wang 2023), and a little on the coefficients,
//     so that the proof is about a solver that stops early (Iyengar, Near, Song, Thakkar,
//     Thakurta, Wang 2019). Where rows say much, b moves coefficients by little: the
//     default where it can be used.
//
// # Theorem
//
// [Train] has the event that [Settings.Event] names, under add-remove adjacency, for rows as
// units, over all tables of at most [Settings.MaxRows] rows.
//
// # Proof for Output
//
// (1) Features. Every column gives one entry of absolute value at most s, and the constant
// one more; m·s² ≤ 1 for these m entries, in exact arithmetic on the floating-point numbers
// that are used. So ‖x‖ ≤ 1, whatever the row is.
//
// (2) The gradient of one row's loss is (σ(θ·x)−y)·x with two classes, of norm at most
// L = 1; with K classes it is (p−e_y)⊗x, of norm at most L = √2.
//
// (3) The minimum. Let D' be D and one row more, and θ, θ' the two minima. ∇J_D(θ') =
// ∇J_D'(θ') − ∇ℓ = −∇ℓ, of norm at most L. J_D is Λ-strongly convex, so ‖θ'−θ‖ ≤
// ‖∇J_D(θ')−∇J_D(θ)‖/Λ ≤ L/Λ. This is Lemma 7 of Chaudhuri et al. without its division by n.
//
// (4) What runs stops at some θ̂ with ‖∇J(θ̂)‖ ≤ τ, so ‖θ̂−θ‖ ≤ τ/Λ by strong convexity,
// on either side: the vectors that are noised differ by at most Δ = (L+2τ)/Λ. The
// gradient that is computed must be at most τ less a bound on its own rounding error for
// every table (logit.Limits). τ is 0.001, or five times that bound if this is more; plain
// descent, which takes over if Newton's method does not get there, then always ends (see
// logit.Problem.Descend). So there is no outcome "did not converge", which would say
// something about the rows.
//
// (5) Each coordinate of θ̂ is rounded to a grid, which adds at most √d steps to Δ
// (noise.Grid.RoundedL2). Then noise of σ·Δ, or, as the ℓ1 norm is at most √d times ℓ2, of
// b·√d·Δ, is added exactly (noise.RoundedGaussian, noise.RoundedLaplace). What becomes of
// the noisy coefficients is post-processing.
//
// # Proof for Objective
//
// (6) The exact minimum θ(b), for b of law N(0,σ²I), is (ε,δ)-differentially private if
// ε−κ ≥ 1/(2σ²) and gaussian(σ) has at most δ at ε−κ, κ = ln(1+1/(4Λ)). For b ↦ θ(b) is a
// bijection with b_D(θ) = −∇(J_D − b·θ), so θ has the density φ_σ(b_D(θ))·det H_D(θ), H the
// second derivatives. Let D' have one row more, with gradient g·x, g = σ(θ·x)−y. Then
// b_D = b_D' + g·x, and H_D' = H_D + h·xxᵀ with 0 ≤ h ≤ ¼ and H_D ≥ Λ, so that
// det H_D'/det H_D is between 1 and 1+1/(4Λ). Where D' is the table, the privacy loss is
//
//	ln(f_D'/f_D) ≤ (2g(b'·x) + g²‖x‖²)/(2σ²) + κ,  b' of law N(0,σ²I).
//
// g depends on b', but its sign does not: it is that of −1 for y = 1, and of 1 for y = 0,
// and |g| ≤ 1. So g(b'·x) ≤ (±b'·x)₊ with a fixed sign, and the loss is at most
// Z₊/σ + 1/(2σ²) + κ, Z standard normal. At ε ≥ κ+1/(2σ²) only Z > 0 counts in
// δ = E(1−e^{ε−loss})₊, where this is the loss of gaussian(σ), and κ. Where D is the table,
// it is the same without κ.
//
// (7) What runs takes b rounded to a grid and stops at a gradient of τ: θ̂ is within
// r = (τ+√d·step/2)/Λ of θ(b), by strong convexity. Think of θ(b) as released first. Given
// it, b and so θ̂ are functions of the table, both within r of the same point on either
// side: the noise on the coefficients is a Gaussian mechanism of sensitivity 2r, and with the
// grid of (5). So all is compose(approx(ε,δ), gaussian(·)), and θ(b) is not released at all.
//
// (8) τ is as in (4), with 1e-9 for 0.001, for every ‖b‖ ≤ σ(√d+20). A longer b has
// probability e^−200, for which δ has room.
//
// # Where it is used
//
// In suites alone, on rows that may be shown. Users are not offered it: on average over
// eight tables naive Bayes on a profile predicts better at ε = 1, and a profile serves for
// examples too. It is outside the trust boundary, and nothing that reads private rows may use it.
//
// # What is not hidden
//
// How long it takes depends on the rows. A table of more than [Settings.MaxRows] rows is
// refused, which shows that it is so large: 16 times the declared size.
package private
