package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/run/env"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
)

// writeFiles writes the release, durably, and notes what it is.
func (r *engine) writeFiles(ctx context.Context) error {
	files, err := r.job.files(ctx)
	if err != nil {
		return fmt.Errorf("lay out the release: %w", err)
	}
	subjects := slices.Clone(r.apart)
	for _, f := range files {
		subjects = append(subjects, certificate.Subject{Name: f.Name, Digest: certificate.Digest{SHA256: hexSum(f.Data)}})
	}
	slices.SortFunc(subjects, func(a, b certificate.Subject) int { return strings.Compare(a.Name, b.Name) })
	// A key that was exchanged since is named in the files that it will sign.
	again := r.files != nil && r.signer != r.signerID()
	if r.files != nil && !again && !slices.Equal(r.files, subjects) {
		return r.refuse("its files come out otherwise than they were noted in its journal; use the program that wrote them")
	}
	for _, f := range files {
		if old, err := os.ReadFile(r.path(f.Name)); r.files != nil && err == nil && string(old) == string(f.Data) {
			continue
		}
		if err := writeWhole(r.disk, r.path(f.Name), f.Data, r.mode()); err != nil {
			return fmt.Errorf("write %s: %w", f.Name, err)
		}
	}
	if r.files != nil && !again {
		return nil
	}
	return r.announce(entry{State: written, Files: subjects, Signer: r.signerID()}, env.Progress{Kind: env.Written})
}

// statement makes the claim about files and evaluates it.
func (r *engine) statement(files []certificate.Subject) (*certificate.Statement, error) {
	events, err := r.events()
	if err != nil {
		return nil, err
	}
	c := certificate.Claim{
		Subjects: files, Events: events, Adjacency: r.spec.Adjacency, Unit: r.spec.Unit, Delta: r.spec.Delta,
		Standing: certificate.Proven, Randomness: certificate.OSRandom, Version: r.env.Version, Created: r.day(),
	}
	r.job.claim(&c)
	if r.progress != nil && r.progress.charge != "" {
		c.Ledger = &certificate.LedgerReference{Charge: string(r.progress.charge), Head: r.checkpoint}
	}
	return certificate.NewStatement(c, r.evaluator)
}

// certify signs the claim over all files of the folder.
func (r *engine) certify(context.Context) error {
	if !r.certified() {
		return nil
	}
	if there, err := r.exists(certificate.FileName); err != nil || there {
		return err
	}
	subjects, err := certificate.HashFiles(r.dir, append(r.names(), planFile, journalFile)...)
	if err != nil {
		return err
	}
	s, err := r.statement(subjects)
	if err != nil {
		return err
	}
	envelope, err := certificate.Sign(s, r.env.Signer)
	if err != nil {
		return fmt.Errorf("sign the certificate: %w", err)
	}
	if err := writeWhole(r.disk, r.path(certificate.FileName), envelope, 0o644); err != nil {
		return fmt.Errorf("write the certificate: %w", err)
	}
	r.report(env.Progress{Kind: env.Certified})
	return nil
}

// result describes a complete run.
func (r *engine) result(ctx context.Context) (*Result, error) {
	out := &Result{
		Dir: r.dir, Files: r.names(), Run: r.header.Run, Model: r.env.ModelName, LeftOut: r.identity.leftOut(), Private: r.certified(), Event: r.spec.Event,
		Charge: r.progress.charge, Resumed: r.resumed, Certificate: r.certified(), Warnings: r.warnings,
	}
	if err := r.job.fill(ctx, out); err != nil {
		return nil, err
	}
	for _, again := range r.recharges {
		out.Recharges = append(out.Recharges, again.charge)
	}
	if !r.certified() {
		return out, nil
	}
	var err error
	out.Guarantee, out.Drawn, err = r.guarantees()
	out.Event = out.Guarantee.Event
	return out, err
}

// memo keeps what an evaluator said, for a claim is evaluated before anything is charged
// and again when it is signed.
type memo struct {
	of    certificate.Evaluator
	known map[string]privacy.Interval
}

// Name implements [certificate.Evaluator].
func (m *memo) Name() string { return m.of.Name() }

// Epsilon implements [certificate.Evaluator].
func (m *memo) Epsilon(e privacy.Event, adj privacy.Adjacency, delta float64) (privacy.Interval, error) {
	key := fmt.Sprint(e, adj, delta)
	if i, ok := m.known[key]; ok {
		return i, nil
	}
	i, err := m.of.Epsilon(e, adj, delta)
	if err != nil {
		return i, err
	}
	if m.known == nil {
		m.known = map[string]privacy.Interval{}
	}
	m.known[key] = i
	return i, nil
}
