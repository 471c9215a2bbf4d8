package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/serve/agents"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/privacy/ledger"
	"github.com/sotto-dp/sotto/prompt"
)

// mcpOptions are what the operator lets an agent do.
type mcpOptions struct {
	flags.Model
	agents.Options
	tasks    []string
	spending number
}

func newMCPCommand(p *program) *cobra.Command {
	var opt mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Tools for agents: plan, account, releases, routes, budgets",
		Long: `Serves the Model Context Protocol on standard input and output, for a program
that lets a language model use tools. The tools are:
` + strings.Join(agents.ToolNames, ", ") + `.

No tool reads records, takes a path, or writes. What an agent may reach is named
here, by the one who starts the server: releases in the folder --releases, whose
certificates are checked, and routes of the service at --service (which is
"sotto serve"), whose key is in a variable or a file. Budgets are the ledger's.

A route that answers from private records charges their budget. It is refused
unless --allow-spending names the most ε that one session may be charged.

Clients start this command by themselves: docs/mcp.md has their settings.
Standard output is the protocol's; messages for people go to standard error.
With --json it serves nothing, and prints the tools that it would offer.` + ui.JSONKeys(mcpTools{}),
		Example: `  sotto mcp --releases releases/
  sotto mcp --service http://127.0.0.1:8080 --service-key-env SOTTO_KEY
  sotto mcp --tool plan --tool account --task tickets.toml
  sotto mcp --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), p, opt) },
	}
	opt.Add(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&opt.Tools, "tool", nil, "offer this tool; may be repeated (default: all that have what they need)")
	complete(cmd, "tool", agents.ToolNames...)
	f.StringArrayVar(&opt.tasks, "task", nil, "let agents plan for this task, a `FILE`, by its name, beside the built-in ones; may be repeated")
	addDir(cmd, &opt.Releases, "releases", "let agents see the releases in and below `DIR` whose certificates hold")
	f.StringVar(&opt.Service, "service", "", "let agents ask routes of the service at `URL`")
	f.StringVar(&opt.Key.Env, "service-key-env", "", "the environment `VARIABLE` that holds the key for the service")
	f.StringVar(&opt.Key.File, "service-key-file", "", "or the `FILE` that holds it")
	f.Var(&opt.spending, "allow-spending", "let a session ask routes that answer from private records, until it was charged this much ε (default: refuse them)")
	p.addLedger(f)
	p.addKeys(cmd)
	return cmd
}

// mcpServer offers what the operator allows.
func (p *program) mcpServer(opt mcpOptions) (*agents.Server, error) {
	o := opt.Options
	o.Tasks = map[string]string{}
	for _, ref := range opt.tasks {
		t, err := findTask(ref)
		if err != nil {
			return nil, err
		}
		if slices.Contains(prompt.Builtins(), t.Name) || o.Tasks[t.Name] != "" {
			return nil, usage("--task %s: there is another task called %s; give it another name", ref, t.Name)
		}
		o.Tasks[t.Name] = ref
	}
	if opt.spending.set && !(opt.spending.value > 0) {
		return nil, usage("--allow-spending is %s, it should be above 0; leave it out to refuse routes that answer from private records", ui.Whole(opt.spending.value))
	}
	if o.Service == "" && (o.Key.Env != "" || o.Key.File != "" || opt.spending.set) {
		return nil, usage("--service-key-env, --service-key-file and --allow-spending are for a service: name it with --service URL")
	}
	o.Spending, o.Errors = opt.spending.value, p.Stderr
	o.Plan = func(ctx context.Context, in agents.PlanArguments) (any, error) {
		return p.planForAgents(ctx, opt.Model, in)
	}
	o.Account = func(in agents.AccountArguments) (any, error) {
		opt := accountOptions{termFlags: termsOfAgents(in.TermArguments)}
		if in.Epsilon != nil {
			opt.epsilon = number{*in.Epsilon, true}
		}
		return opt.account(in.Event, in.Size != 0)
	}
	o.Calibrate = func(in agents.CalibrateArguments) (any, error) {
		opt := calibrateOptions{termFlags: termsOfAgents(in.TermArguments), epsilon: number{in.Epsilon, true}}
		return opt.calibrate(in.Event, in.Size != 0)
	}
	o.Budgets = p.budgetsForAgents
	o.Trust = func() (*certificate.Trust, error) { return p.trust(nil, nil) }
	return agents.New(o)
}

func runMCP(ctx context.Context, p *program, opt mcpOptions) error {
	s, err := p.mcpServer(opt)
	if err != nil {
		return err
	}
	if p.JSON {
		tools, err := s.List(ctx)
		if err != nil {
			return err
		}
		return p.Emit(&mcpTools{Tools: tools})
	}
	if p.Keyboard {
		fmt.Fprintln(p.Stderr, "waiting for a client on standard input; clients start this command by themselves, and Ctrl-D ends it")
	}
	return s.Serve(ctx, p.Stdin, p.Stdout)
}

// mcpTools are what a server offers.
type mcpTools struct {
	Tools []agents.Tool `json:"tools"`
}

// Print is not used: people have --help.
func (r *mcpTools) Print(*ui.Page) {}

// planForAgents is "sotto plan". What is wrong with the request is for the agent; what is wrong with the
// model is not.
func (p *program) planForAgents(ctx context.Context, model flags.Model, in agents.PlanArguments) (any, error) {
	if _, err := findTask(in.Task); err != nil {
		return nil, err
	}
	opt := planOptions{Model: model, answers: in.Answers}
	if len(in.Methods) > 0 {
		opt.methods = in.Methods
	}
	opt.task, opt.size, opt.shots, opt.tokens = in.Task, strconv.FormatInt(in.Size, 10), in.Shots, in.Tokens
	opt.epsilon = number{in.Epsilon, true}
	opt.delta = number{in.Delta, in.Delta != 0}
	opt.given = func(string) bool { return false }
	if _, err := opt.planned(in.Answers > 0); err != nil {
		return nil, agents.Tell(err)
	}
	r, err := p.plan(ctx, opt, in.Answers > 0)
	if ui.Is[*sotto.InputError](err) {
		return nil, agents.Tell(err)
	}
	return r, err
}

// termsOfAgents are the flags of the command line that mean the same.
func termsOfAgents(t agents.TermArguments) termFlags {
	f := termFlags{size: t.Size, adjacency: cmp.Or(t.Adjacency, string(privacy.AddRemove)), accountant: cmp.Or(t.Accountant, "auto")}
	if t.Delta != nil {
		f.delta = number{*t.Delta, true}
	}
	return f
}

// budgetsForAgents are the rows of "sotto ledger list", without fingerprints, addresses and reasons.
func (p *program) budgetsForAgents(ctx context.Context) (out []agents.Budget, err error) {
	address, err := p.ledgerAddress()
	if err != nil {
		return nil, err
	}
	l, err := ledger.Open(ctx, address, ledger.Options{})
	if err != nil {
		return nil, err
	}
	sets, err := l.List(ctx)
	if err := errors.Join(err, l.Close()); err != nil {
		return nil, err
	}
	for i := range sets {
		if sets[i].Name == "" { // people see its fingerprint then
			sets[i].Name = fmt.Sprintf("data set %d, which has no name", i+1)
		}
	}
	for _, r := range budgetRows(sets...) {
		out = append(out, agents.Budget{
			Dataset: r.Dataset, Budget: r.Budget, Composition: r.Composition, Epsilon: r.Epsilon, Delta: r.Delta, Spent: r.Spent, Left: r.Left,
			Open: r.Open, Reserved: r.Reserved, Committed: r.Committed, Forfeited: r.Forfeited,
		})
	}
	return out, nil
}
