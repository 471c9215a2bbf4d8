package root

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui"
)

var shells = []string{"bash", "zsh", "fish", "powershell"}

func newCompletionCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "The completion script of a shell",
		Long: `Prints a script that lets a shell complete the verbs, flags and values of sotto.

For bash, load it once per session, or from ~/.bashrc:

  source <(sotto completion bash)

For zsh, write it to a directory of $fpath:

  sotto completion zsh > "${fpath[1]}/_sotto"

For fish:

  sotto completion fish > ~/.config/fish/completions/sotto.fish`,
		Example:   "  source <(sotto completion bash)",
		ValidArgs: shells,
		Args:      cli.Takes("SHELL"),
		RunE:      func(cmd *cobra.Command, args []string) error { return runCompletion(cmd, p, args[0]) },
	}
}

type completionResult struct {
	Shell  string `json:"shell"`
	Script string `json:"script"`
}

func (r *completionResult) Print(p *ui.Page) { p.File(r.Script) }

func runCompletion(cmd *cobra.Command, p *cli.Program, shell string) error {
	root := cmd.Root()
	generate, ok := map[string]func(io.Writer) error{
		"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
		"zsh":        root.GenZshCompletion,
		"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
		"powershell": root.GenPowerShellCompletionWithDesc,
	}[shell]
	if !ok {
		return cli.Usage("there is no completion for %q; there is for %s", shell, strings.Join(shells, ", "))
	}
	var b strings.Builder
	if err := generate(&b); err != nil {
		return fmt.Errorf("completion: %w", err)
	}
	return p.Emit(&completionResult{shell, b.String()})
}
