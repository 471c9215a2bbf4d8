package root

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	"github.com/sotto-dp/sotto/internal/ui/settings"
)

// manPage writes the manual page of a command in man(7)'s macros, from the same words as its help.
func manPage(cmd *cobra.Command, built *versionResult) string {
	m := &manual{}
	day, _, _ := strings.Cut(built.Date, "T")
	m.line(".TH %s 1 %q %q %q", strings.ToUpper(manName(cmd)), day, "sotto "+built.Version, "Sotto")
	m.section("NAME")
	m.line(`%s \- %s`, roff(manName(cmd)), roff(cmd.Short))
	m.section("SYNOPSIS")
	if !cmd.HasAvailableSubCommands() || cmd.Annotations[cli.RunsItself] != "" {
		m.line(`.B %s`, roff(cmd.UseLine()))
	}
	if cmd.HasAvailableSubCommands() {
		if cmd.Annotations[cli.RunsItself] != "" {
			m.line(".br")
		}
		m.line(`.B %s VERB`, roff(cmd.CommandPath()))
	}
	if cmd.Long != "" {
		m.section("DESCRIPTION")
		m.text(cmd.Long)
	}
	if cmd.HasAvailableSubCommands() {
		m.section("VERBS")
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				m.item(`\fB`+roff(c.Name())+`\fR`, roff(c.Short))
			}
		}
	}
	m.flags("OPTIONS", cmd.LocalFlags())
	if s := settings.Of(cmd); s != nil {
		m.flags("SETTINGS, FOR --set NAME=VALUE", s.Flags)
	}
	m.flags("OPTIONS OF EVERY VERB", cmd.InheritedFlags())
	if cmd.Example != "" {
		m.section("EXAMPLES")
		m.verbatim(strings.Split(cmd.Example, "\n"))
	}
	m.section("EXIT STATUS")
	for code, what := range []string{"done", "failed", "wrong usage or input", "refused by the budget", "verification failed"} {
		m.item(fmt.Sprintf(`\fB%d\fR`, code), what)
	}
	if see := related(cmd); len(see) > 0 {
		m.section("SEE ALSO")
		m.line("%s", strings.Join(see, ",\n"))
	}
	return m.String()
}

// related are the pages above and below a command's.
func related(cmd *cobra.Command) []string {
	var see []string
	add := func(c *cobra.Command) { see = append(see, fmt.Sprintf(`\fB%s\fR(1)`, roff(manName(c)))) }
	if cmd.HasParent() {
		add(cmd.Parent())
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			add(c)
		}
	}
	return see
}

// manual is a page being written.
type manual struct {
	strings.Builder
	begun bool // whether the section has text
}

func (m *manual) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }

func (m *manual) section(name string) {
	m.line(".SH %s", name)
	m.begun = false
}

// paragraph begins one; a section begins with one by itself.
func (m *manual) paragraph() {
	if m.begun {
		m.line(".PP")
	}
	m.begun = true
}

func (m *manual) item(tag, text string) { m.line(".TP\n%s\n%s", tag, text) }

// text writes paragraphs, which are parted by empty lines. Indented lines stay as they are.
func (m *manual) text(s string) {
	for paragraph := range strings.SplitSeq(strings.Trim(s, "\n"), "\n\n") {
		lines := strings.Split(paragraph, "\n")
		if !strings.HasPrefix(lines[0], " ") {
			m.paragraph()
		}
		for len(lines) > 0 {
			n := 0
			for n < len(lines) && strings.HasPrefix(lines[n], " ") {
				n++
			}
			if n > 0 {
				m.verbatim(lines[:n])
				lines = lines[n:]
				continue
			}
			m.line("%s", roff(lines[0]))
			lines = lines[1:]
		}
	}
}

// verbatim writes lines that are not filled.
func (m *manual) verbatim(lines []string) {
	m.paragraph()
	m.line(".RS 4\n.nf")
	for _, l := range lines {
		m.line("%s", roff(strings.TrimPrefix(l, "  ")))
	}
	m.line(".fi\n.RE")
}

func (m *manual) flags(title string, set *pflag.FlagSet) {
	if !set.HasAvailableFlags() {
		return
	}
	m.section(title)
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		tag := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			tag = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + tag
		}
		if value != "" {
			tag += ` \fI` + roff(value) + `\fR`
		}
		if shown := f.DefValue; !strings.Contains(usage, "(default") && shown != "" && shown != "false" && shown != "0" && shown != "[]" && shown != "0s" {
			usage += " (default " + shown + ")"
		}
		m.item(tag, roff(usage))
	})
}

var roffSpecial = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`)

// beyond are characters outside ASCII, which not every formatter reads as they are.
var beyond = regexp.MustCompile(`[^\x00-\x7f]`)

// roff escapes text. A line that begins with a dot would be a request.
func roff(s string) string {
	s = roffSpecial.Replace(s)
	s = beyond.ReplaceAllStringFunc(s, func(c string) string { return fmt.Sprintf(`\[u%04X]`, []rune(c)[0]) })
	if strings.HasPrefix(s, ".") {
		s = `\&` + s
	}
	return s
}
