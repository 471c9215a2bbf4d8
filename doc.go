// Package sotto is the front door of the library: private records go in, examples with a
// differential-privacy guarantee that anyone can check come out.
//
// A [Client], from [Open], has its state in one directory: the ledger with the budgets of
// data sets, the keys that sign, and a private folder.
//
//   - [Client.Synthesize] writes a few synthetic examples from private labelled texts, into
//     a folder with a certificate, and [Client.Choose] has the records choose a prompt. The
//     budget of the data set is charged before anything is drawn, and a run that was
//     interrupted resumes where it stopped.
//   - [Client.Answers] answers questions from private records, each answer charged to that
//     budget before anybody is drawn for it; [Client.Answer] answers one.
//   - [Client.Measure] reports how well prompts do on private records.
//   - [Client.Profile] describes a private table by typical rows of groups, with noise, as
//     examples with a certificate; [Client.Perturb] exchanges every row for one that may be
//     seen, and [PerturbRows] does so for rows of anyone who calls it.
//   - [Client.Plan], [Client.PlanAnswers] and [PlanTable] report what each method would do
//     and cost at an ε. They read no private data.
//   - [Client.Rehearse] carries out a whole run on public records, or on some that the model
//     invents, and measures what comes out. It charges nothing and signs nothing.
//   - [Verify] checks the certificate of a folder against its files and computes ε again.
//
// # A tour
//
// Records are a file or a database. A [prompt.Task] says what they are and how prompts are laid out; a
// [Request] says what is wanted, at which ε. Both are public, and written without looking at the data:
//
//	client, err := sotto.Open("state", nil) // nil: the default model, inside this program
//	run, err := client.Synthesize(ctx, sotto.SynthesizeOptions{
//		Request: sotto.Request{Task: task, Size: 20000, Epsilon: 1},
//		Source:  sotto.Source{Location: "tickets.jsonl"},
//		Out:     "demos",
//	})
//	report, err := client.Verify(run.Dir)
//
// The folder then holds the examples, a report, and a certificate that anyone checks with the
// public key. The examples of this package run as they stand, on made-up records and a toy model. A method of
// your own is one file inside the tree, since what it declares is charged and signed: see
// docs/methods.md.
//
// # What stays
//
// From version 1 on, by the rules of semantic versioning, a minor version adds and does not
// take away:
//
//   - Exported names of this package and of packages prompt, schema, lm, lm/backend, privacy,
//     privacy/accountant, privacy/noise, privacy/ledger, privacy/certificate and eval, and the
//     behaviour that their comments state. make docs lists them all. Interfaces that have an unexported method may get more, and structs more fields: name the fields
//     that you set. Before version 1 they may change in any minor version, with a note.
//   - Files: a later version reads tasks, schemas, suites, plans, release folders, certificates and ledgers of an
//     earlier one, and members of JSON keep their names and meaning. A certificate once valid stays so, unless its key is
//     revoked or a proof turns out to be wrong; then its method is withdrawn, loudly.
//   - Guarantees: what was charged is never made smaller afterwards, and ε of an event is an upper bound in every version.
//
// What may change at any time: everything under internal and cmd except the command line's verbs, flags and --json keys; all
// other packages, the embedded engine's and formats' among them; words of messages; defaults such as methods and
// settings, so that the same request may be planned better (a [Plan] that was kept is carried out as it
// is); bounds on ε, which may become tighter; what a seed gives, from one version to the next. An unfinished
// run or list of answers is for the version that began it.
//
// [Version] is what certificates state.
//
// # How it is made
//
// These functions only join what other packages prove: package
// internal/plan turns an ε into settings and an event, packages internal/run and
// internal/run/answer carry plans out against package privacy/ledger, and package
// privacy/certificate states what was done. Nothing in here looks into a record, and no ε is
// typed in here.
//
// What [Client.Synthesize] writes has the guarantee of the plan's event (package
// internal/private/decode has the proofs, a method each), on what docs/security.md lists.
// For tables the proofs are in packages internal/private/table/global and
// internal/private/table/local.
package sotto
