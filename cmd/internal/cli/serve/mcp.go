package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/cmd/internal/serve/agents"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
	"github.com/sotto-dp/sotto/privacy/certificate"
	"github.com/sotto-dp/sotto/prompt"
)

// mcpOptions are what the operator lets an agent do.
type mcpOptions struct {
	flags.Model
	agents.Options
	tasks    []string
	spending cli.Number
}

// ForAgents is what other verbs do for agents.
type ForAgents struct {
	// Plan is "sotto plan", with the model that flags of this verb name.
	Plan func(context.Context, flags.Model, agents.PlanArguments) (any, error)
	// Account and Calibrate are the verbs of these names, and Budgets what "sotto ledger show" lists.
	Account   func(agents.AccountArguments) (any, error)
	Calibrate func(agents.CalibrateArguments) (any, error)
	Budgets   func(context.Context) ([]agents.Budget, error)
}

func newMCPCommand(p *cli.Program, does ForAgents) *cobra.Command {
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
  sotto mcp --task tickets.toml
  sotto mcp --json`,
		RunE: func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), p, opt, does) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&opt.tasks, "task", nil, "let agents plan for this task, a `FILE`, by its name, beside the built-in ones; may be repeated")
	cli.AddDir(cmd, &opt.Releases, "releases", "let agents see the releases in and below `DIR` whose certificates hold")
	f.StringVar(&opt.Service, "service", "", "let agents ask routes of the service at `URL`")
	f.StringVar(&opt.Key.Env, "service-key-env", "", "the environment `VARIABLE` that holds the key for the service")
	f.StringVar(&opt.Key.File, "service-key-file", "", "or the `FILE` that holds it")
	f.Var(&opt.spending, "allow-spending", "let a session ask routes that answer from private records, until it was charged this much ε (default: refuse them)")
	return cmd
}

// mcpServer offers what the operator allows.
func mcpServer(p *cli.Program, opt mcpOptions, does ForAgents) (*agents.Server, error) {
	o := opt.Options
	o.Tasks = map[string]string{}
	for _, ref := range opt.tasks {
		t, err := cli.FindTask(ref)
		if err != nil {
			return nil, err
		}
		if slices.Contains(prompt.Builtins(), t.Name) || o.Tasks[t.Name] != "" {
			return nil, cli.Usage("--task %s: there is another task called %s; give it another name", ref, t.Name)
		}
		o.Tasks[t.Name] = ref
	}
	if opt.spending.Given && !(opt.spending.Value > 0) {
		return nil, cli.Usage("--allow-spending is %s, it should be above 0; leave it out to refuse routes that answer from private records", ui.Whole(opt.spending.Value))
	}
	if o.Service == "" && (o.Key.Env != "" || o.Key.File != "" || opt.spending.Given) {
		return nil, cli.Usage("--service-key-env, --service-key-file and --allow-spending are for a service: name it with --service URL")
	}
	o.Spending, o.Errors = opt.spending.Value, p.Stderr
	o.Plan = func(ctx context.Context, in agents.PlanArguments) (any, error) { return does.Plan(ctx, opt.Model, in) }
	o.Account, o.Calibrate, o.Budgets = does.Account, does.Calibrate, does.Budgets
	o.Trust = func() (*certificate.Trust, error) { return p.Trust(nil) }
	return agents.New(o)
}

func runMCP(ctx context.Context, p *cli.Program, opt mcpOptions, does ForAgents) error {
	s, err := mcpServer(p, opt, does)
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
