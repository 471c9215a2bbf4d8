package method

import (
	"fmt"
	"strings"
)

// Page returns a method's page of docs/methods, in Markdown.
func Page(s Spec) string {
	var out strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n\n", args...) }
	line("# %s", s.Name)
	line("%s.", capital(s.Summary))
	line("%s", s.Idea)
	line("%s **When.** %s", "**Cost.** "+s.Cost, s.When)
	line("## Guarantee")
	switch s.Guarantee {
	case Proven:
		line("(ε, δ)-differential privacy, with a charge and a certificate. A plan meets ε by turning: %s. Draws: %s.", s.Calibrates, s.Draws)
	case Claimed:
		line("**NOT PROVEN.** A paper claims it; there is neither a charge nor a certificate. Turned: %s. Draws: %s.", s.Calibrates, s.Draws)
	case Free:
		line("No record is read, so that it costs nothing.")
	default:
		line("**None.** It protects nobody, and needs `--non-private`. Draws: %s.", s.Draws)
	}
	if s.Proof != "" && s.Guarantee == Proven {
		line("Proof: %s.", s.Proof)
	}
	if s.Cites != "" {
		line("Papers: %s.", s.Cites)
	}
	line("Needs of a model: %s.", s.Needs)
	line("## Settings")
	if len(s.Settings) == 0 {
		line("None.")
		return strings.TrimRight(out.String(), "\n") + "\n"
	}
	out.WriteString("| Setting | Flag | Values | Default | What it does |\n|---|---|---|---|---|\n")
	for _, one := range s.Settings {
		flag := "`--" + one.Flag() + "`"
		if one.Suites || s.Kind != Texts && s.Kind != Answers {
			flag = ""
		}
		otherwise := one.Otherwise()
		if one.Type == Bool {
			otherwise = "false"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", one.Name, flag, one.Bounds(), otherwise, strings.ReplaceAll(one.Help, "`", ""))
	}
	return out.String()
}

// Index returns the list of all methods of docs/methods, in Markdown.
func Index() string {
	var out strings.Builder
	out.WriteString("# Methods\n\nEach page is made from what the method says of itself in its own file; `sotto plan` compares them on a task.\n")
	for _, kind := range kinds {
		fmt.Fprintf(&out, "\n## %s\n\n| Method | Guarantee | What it does |\n|---|---|---|\n", capital(string(kind)))
		for _, s := range List(kind) {
			fmt.Fprintf(&out, "| [%s](%s.md) | %s | %s |\n", s.Name, s.Name, s.Guarantee, s.Summary)
		}
	}
	return out.String()
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
