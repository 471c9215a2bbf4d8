package root

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/sys/spell"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// New makes the command of a program with some verbs, and those about the program itself.
func New(p *cli.Program, verbs ...*cobra.Command) *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:   "sotto",
		Short: "Differential privacy that can be checked",
		Long: `Sotto makes synthetic examples from private records and tables, and answers
questions with them, with a guarantee that can be checked: it plans what a
method costs in privacy, keeps budgets that no run or race overspends, runs
language models, and signs and checks certificates.

A mechanism is described by an event, such as

  repeat(100, poisson(20/30000, gaussian(0.51)))

which reads: 100 times, draw each record with probability 20/30000 and add
Gaussian noise of 0.51 times the sensitivity.

With --json, standard output holds exactly one JSON object (with "sotto answer
--inputs" one a line), also when a verb fails: then it has "error" and "code",
the exit code. Messages for people go to standard error.

Flags come before variables (SOTTO_LEDGER, SOTTO_KEYS, SOTTO_PRIVATE,
SOTTO_STORE, SOTTO_MODEL, SOTTO_MODELS, SOTTO_MODELS_LOCK, SOTTO_CONFIG), and
these before your configuration: the file that --config or SOTTO_CONFIG names,
else sotto/sotto.toml in the folder of your configuration (~/.config on Linux).
It may set "ledger", "keys", "private" and "service"; in a table [model]: name,
encoder, url, dialect, key_env, key_file, trusted, proxy, allow_plaintext,
exclusive, threads, context, cache_salt, tolerance; and in tables
[upstream.NAME]: url, key_env, key_file, allow_plaintext. A sotto.toml in the working directory may
set name, threads and context of [model], and nothing else.`,
		Example: `  sotto plan --task agnews --size 120000 --epsilon 1
  sotto rehearse --task agnews --size 120000 --epsilon 1
  sotto synth --task agnews --data news.jsonl --size 120000 --epsilon 1 --out demos
  sotto answer --task samsum --data chats.jsonl --size 14732 --epsilon 0.5 --input 'Ann: Six? Ben: Fine.'
  sotto table profile --schema adult --data adult.csv --size 32561 --epsilon 1 --groups 4 --out demos
  sotto eval --task agnews --demos zero --demos demos --test test.jsonl
  sotto account 'repeat(100, poisson(20/30000, gaussian(0.51)))' --delta 1e-6
  sotto calibrate 'repeat(100, gaussian(x))' --epsilon 1 --delta 1e-6
  sotto ledger init patients --epsilon 4 --delta 1e-6
  sotto verify release/ --key signer.pub.pem`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return cli.UnknownVerb(cmd, args[0])
			case showVersion:
				return p.Emit(thisVersion())
			}
			return cmd.Help()
		},
	}
	// cobra checks the same again, and does not say what to do.
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmd.ValidateRequiredFlags(); err != nil {
			return cli.Usage("%w: %s", err, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		if err := cmd.ValidateFlagGroups(); err != nil {
			return cli.Usage("%w: %s", err, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
		}
		return nil
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(wrongFlag)
	root.Flags().BoolVar(&showVersion, "version", false, "print the version")
	flags := root.PersistentFlags()
	flags.BoolVar(&p.JSON, "json", false, "print one JSON object instead of a table")
	flags.BoolVar(&p.Verbose, "verbose", false, "report on standard error what work a run did; it depends on the records, so do not publish it")
	flags.StringVar(&p.Places.File, "config", "", "read the configuration from `FILE` (default: sotto/sotto.toml in the folder of your configuration)")
	p.AddPlaces(flags)
	p.Chosen.AddNames(flags)
	root.AddCommand(verbs...)
	root.AddCommand(newVersionCommand(p), newCompletionCommand(p), newManCommand(p))
	group(root)
	cli.TakesNothing(root)
	root.SetHelpCommand(newHelpCommand())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if !p.JSON {
			help(cmd, args)
			return
		}
		var b strings.Builder
		cmd.SetOut(&b)
		help(cmd, args)
		p.WriteJSON(struct {
			Help string `json:"help"`
		}{b.String()})
	})
	root.SetHelpTemplate(helpTemplate)
	root.SetUsageTemplate(usageTemplate)
	return root
}

func init() {
	cobra.AddTemplateFunc("flagHelp", flagHelp)
	cobra.AddTemplateFunc("brief", func(c *cobra.Command) bool { return c.Root().Annotations[brief] != "" })
}

const helpTemplate = `{{if brief .}}{{.Short}}

{{.UsageString}}{{else}}{{with (or .Long .Short)}}{{. | trimTrailingWhitespaces}}

{{end}}{{.UsageString}}
Exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 refused by the budget,
4 verification failed.
{{end}}`

const usageTemplate = `Usage:
  {{if not .HasAvailableSubCommands}}{{.UseLine}}{{else}}{{if .Annotations.runs}}{{.UseLine}}
  {{end}}{{.CommandPath}} VERB{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}{{$verbs := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $verbs}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if not .Groups}}

Verbs:{{range $verbs}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

{{flagHelp .}}{{end}}{{if and .HasAvailableInheritedFlags (not (brief .))}}

Flags of every verb:
{{.InheritedFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

Run "{{.CommandPath}} VERB --help" for more about a verb.{{end}}
`

func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "help [VERB]",
		Short:  "Help about a verb",
		Hidden: true,
		Args:   cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return cli.UnknownVerb(about, strings.Join(rest, " "))
			}
			return about.Help()
		},
	}
}

// misspelt finds a word that is no verb before --help, which would otherwise be answered with the help of
// what the word is not a verb of.
func misspelt(root *cobra.Command, args []string) (*cobra.Command, string) {
	if !slices.Contains(args, "--help") && !slices.Contains(args, "-h") {
		return nil, ""
	}
	cmd, rest, err := root.Find(args)
	if err != nil || !cmd.HasSubCommands() || cmd.Annotations[cli.RunsItself] != "" {
		return nil, ""
	}
	for i, word := range rest {
		if !strings.HasPrefix(word, "-") && (i == 0 || rest[i-1] != "--config") {
			return cmd, word
		}
	}
	return nil, ""
}

// wrongFlag says which flag was probably meant.
func wrongFlag(cmd *cobra.Command, err error) error {
	if wrong, ok := errors.AsType[*pflag.InvalidValueError](err); ok && wrong.GetFlag().Name == "set" && settings.Of(cmd) != nil {
		return cli.Usage("--set: %w", errors.Unwrap(wrong))
	}
	name, ok := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !ok {
		return cli.Usage("%w", err)
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := spell.Near(name, names); len(near) > 0 {
		return cli.Usage("%w; did you mean --%s?", err, strings.Join(near, " or --"))
	}
	return cli.Usage("%w", err)
}
