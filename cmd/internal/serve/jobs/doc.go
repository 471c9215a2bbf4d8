// Package jobs has workers carry out jobs of the service's store: verbs of the program, each in
// a process and a folder of its own.
//
// A job is a verb's request, with the plan that was approved when it was added ([Work]): another
// one is refused, and nothing is charged. It resumes where it stopped when it is repeated in the
// same folder, and is charged once (package run, and lists of questions in package answer). So a
// worker may die at any moment: another one repeats the job, and that is all there is to recovery. What is left to do here is that no two workers
// have a job at the same time:
//
//   - A worker has a job for as long as its lease, which it takes anew again and again, by the
//     database's clock. What it reports later changes nothing: every change names the owner and
//     the attempt.
//   - A worker that cannot take it anew ends the job's process before its lease has run out.
//   - The process holds a lock on the job's folder. A worker that was stopped and woke up, or a
//     process that outlived its worker, keeps others out until it ends.
//   - On Linux the process dies with its worker.
//
// Of what the process prints, the store gets what may be seen by all who may see jobs: which
// step it is at, and its result without what depends on the records that were drawn.
// When it gets it says how long steps took, which depends on them too: steps, texts and the end
// are shown at beats, which are few and get longer ([Options].Beat), and no job begins until the
// beat at which the one before it ended.
package jobs
