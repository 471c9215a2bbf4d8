// Package logit minimises the ridge-penalised logistic loss
//
//	J(θ) = Σ w_i·ℓ(θ; x_i, y_i) + ½ Σ ridge_j·θ_j² + Σ linear_j·θ_j
//
// over rows whose features are mostly zeros and ones, and returns the norm of the gradient
// where it stopped.
//
// A row is a handful of entries, one for each column of its table:
// rows are kept column by column, and every pass costs rows times columns (times columns
// again for the second derivatives), however many values the columns have.
//
// With one outcome ℓ is the loss of two classes, ln(1+e^z) − y·z; with K outcomes it is
// that of K classes, ln Σ e^{z_k} − z_y. Sums are taken over fixed blocks in a fixed order,
// so that results are the same on any number of threads.
//
// For callers who need more than a good estimate of the gradient, [Problem.Careful]
// computes it with twice the precision where it matters, and [Limits.Rounding] bounds what
// is left of the error; the argument is at its comment.
package logit
