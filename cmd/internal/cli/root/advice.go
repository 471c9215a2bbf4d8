package root

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto"
	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/private/record"
	tables "github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/settings"
	"github.com/sotto-dp/sotto/lm"
	"github.com/sotto-dp/sotto/privacy/ledger"
)

// advisedError is an error with what to do next.
type advisedError struct {
	error
	text string
}

// Error returns the text with the advice.
func (e advisedError) Error() string { return e.text }

// Unwrap returns the cause.
func (e advisedError) Unwrap() error { return e.error }

// advise adds to an error what its command can do about it, a flag or another command. The library
// does not know these. Errors that name one stay as they are.
func advise(cmd *cobra.Command, err error) error {
	if ui.Is[ui.ReportedError](err) {
		return err
	}
	text := ui.Describe(err)
	var path *fs.PathError
	if errors.As(err, &path) && errors.Is(path.Err, fs.ErrNotExist) && path.Op != "mkdir" && strings.Contains(text, path.Error()) {
		text = strings.Replace(text, path.Error(), cli.Absent(path.Path), 1)
	}
	if !ui.Actionable(text) {
		if next := nextStep(cmd, err, text); next != "" {
			text = strings.TrimSuffix(text, ".") + next
		}
	}
	if text == ui.Describe(err) {
		return err
	}
	return advisedError{err, text}
}

// nextStep returns the flags or the command that help about an error, to be put after it; "" where there are none.
func nextStep(cmd *cobra.Command, err error, text string) string {
	has := func(name string) bool { return settings.Flag(cmd, name) != nil }
	var source *record.Error
	var path *fs.PathError
	switch {
	case errors.As(err, &source) && source.Code == tables.Columns && has("text-column"):
		return "; the settings text-column and label-column, and --unit, name columns in place of the task's"
	case errors.As(err, &source) && source.Code == tables.Columns && has("schema"):
		return "; correct the names in the file of --schema; sotto table schema infer --data FILE prints those of a file"
	case errors.As(err, &source) && strings.Contains(text, "query") && has("query"):
		return " (--query SQL)"
	case errors.As(err, &source) && strings.Contains(text, "format") && has("format"):
		return " (--format)"
	case (ui.Is[*record.MalformedError](err) || ui.Is[*tables.RefusedError](err)) && has("on-error"):
		return " (" + settings.Named(cmd, "on-error", "skip") + ")"
	case ui.Is[*ledger.UnknownDatasetError](err):
		return "; sotto ledger show names those it knows, sotto ledger init NAME adds one"
	case ui.Is[*ledger.ExistsError](err):
		return "; see sotto ledger grant"
	case ui.Is[*ledger.UnknownChargeError](err), ui.Is[*ledger.StateError](err):
		return "; sotto ledger show DATASET lists its charges"
	case errors.Is(err, ledger.ErrBudget):
		return " (sotto ledger grant DATASET --epsilon E --reason TEXT)"
	case ui.Is[*sotto.FolderError](err), strings.Contains(text, "run folder"):
		return " (--out DIR)"
	case ui.Is[*lm.FileError](err), strings.HasPrefix(text, "there is no model"):
		return "; sotto model list names those that are here"
	case ui.Is[*lm.ContextError](err) && has("shots"):
		return " (--shots, the setting tokens, --model)"
	case ui.Is[*document.InvalidError](err) && strings.HasPrefix(text, "task "):
		return " (sotto task check FILE)"
	case ui.Is[*document.InvalidError](err) && strings.HasPrefix(text, "plan "):
		return " (sotto plan --write FILE makes one, sotto synth --help lists what it may have)"
	case ui.Is[*document.InvalidError](err) && strings.HasPrefix(text, "schema "):
		return " (sotto table schema check FILE)"
	case source != nil && has("data"):
		return " (--data FILE)"
	case flagNamed(cmd, err.Error()) != "":
		return " (--" + flagNamed(cmd, err.Error()) + ")"
	case strings.Contains(text, "schema") && has("schema"):
		return " (--schema FILE)"
	}
	// What is built in stands in place of files.
	for _, of := range [][2]string{{"task", "sotto task list"}, {"schema", "sotto table schema"}} {
		if strings.Contains(text, of[0]) && (ui.Is[*document.UnknownError](err) || errors.As(err, &path)) {
			return "; " + of[1] + " lists those that are built in"
		}
	}
	return ""
}

// flagNamed returns the flag whose value a message names, a path as a rule.
func flagNamed(cmd *cobra.Command, text string) (name string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		values := []string{f.Value.String()}
		if list, many := f.Value.(pflag.SliceValue); many {
			values = list.GetSlice()
		}
		for _, v := range values {
			if len(v) > 2 && regexp.MustCompile(`(^|[\s"])`+regexp.QuoteMeta(v)+`($|[\s":;,)])`).MatchString(text) {
				name = f.Name
			}
		}
	})
	return name
}
