// Package measure counts, with noise, for how many private records a prompt gives the right
// answer.
//
// A drawn record is right or wrong with a prompt, so that it counts in one of
// two cells. A table of counts in which each unit adds at most one in all needs noise for
// one, however many cells it has. Both cells are released with noise, and with them the
// number of records that were asked, which is private: nothing is divided by it here. The
// quotient, and how far it may be off, are for anyone who has the two numbers (package
// internal/stat).
//
// Grades between right and wrong are allowed: a record with grade g ∈ [0, 1] adds g to
// one cell and 1 − g to the other, which is one in all. So written outputs are measured by
// their overlap with what the model writes (ROUGE-L), or by their mean probability, in the
// same way. What is no mean over records is not: the mean over labels of F1, for example, is
// a quotient for each label, which one record of a rare label may move as far as it likes.
//
// Two prompts are compared in one table of four cells: both right, only the first, only the
// second, neither. For grades f and g these are min(f, g), (f − g)⁺, (g − f)⁺ and
// 1 − max(f, g), again one in all, and the grade on each prompt is the sum of two cells. So
// two prompts cost what one does, and their difference is known better than each of them.
// Three or more have a table each.
//
// Where answers are labels of a list, a table of its own may count the drawn records by label ([Measure.Labels]):
// an accuracy says little to anyone who does not know how often the commonest label is right.
//
// # Guarantee
//
// Theorem: what a [Measurer] releases is poisson(Rate, repeat(t, laplace(Scale))), where t is
// the number of tables: 1 for up to two prompts, else one for each, and one more where records are counted by
// label.
//
// Proof. All tables are of one draw. Let D' be D with one drawn unit more. One record of the
// unit is drawn, and a grade is a function of that record and of a prompt alone (package
// grader). So the cells of a table differ by non-negative numbers with sum 1, exactly, since
// grades are whole numbers of steps; in the table of labels, one cell by 1, or none. Where it is all in one cell (right or wrong), the
// table with Laplace noise of scale Scale on each cell is laplace(Scale) by definition
// (Dwork, McSherry, Nissim, Smith 2006). Else go from one table to the other cell by cell,
// by s_1, s_2, … with sum 1. Let f_s be the trade-off function of a Laplace distribution against the
// same moved by s. A cell's step has f_s, steps one after the other have at least
// f_s'(1 − f_s) (Dong, Roth, Su 2022, lemma A.5), and that is f_{s+s'}, as for every
// log-concave distribution that is moved: the best tests are thresholds. So the whole way has at
// least f_1, which is laplace(Scale). Where a unit is exchanged for another, cells of both
// move, the sum is 2, and noise of twice the scale is added. What runs is that noise rounded
// to steps of 2^-20, and then the sum rounded to whole numbers: post-processing. Tables are
// released together, each with noise of its own: composition within the draw. ∎
//
// # What would break it, and what keeps it from happening
//
//   - The number of records that were drawn, or a share of it, without noise: what comes out
//     is the noisy tables and nothing else.
//   - A grade above 1, which would count a record more than once: grades are clamped, by
//     package grader and again here.
//   - A second look with the same draw: a measurer has one outcome, for one list of prompts.
//   - More prompts than were paid for: refused.
//
// How long it takes depends on how many records were drawn and how long they are, as with
// every method.
package measure
