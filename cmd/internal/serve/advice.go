package serve

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/sotto-dp/sotto/cmd/internal/serve/gateway"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/eval/worth"
	"github.com/sotto-dp/sotto/internal/config"
	"github.com/sotto-dp/sotto/internal/release"
	"github.com/sotto-dp/sotto/internal/sys/bounded"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/prompt"
)

// AnswersAlone reports whether a release answers without a language model.
func AnswersAlone(dir string) bool {
	if dir == "" {
		return false
	}
	set, err := worth.ReadSet(dir, prompt.Task{})
	return err == nil && set.Chosen != nil && set.Chosen.Evidence.How == prompt.Alone
}

// Warnings are about a route whose release gained nothing, or is asked in another form than its records
// judged.
func (b *Builder) Warnings(spec store.RouteSpec) (all []string, err error) {
	if w := ungained(spec.Release); w != "" {
		all = append(all, w)
	}
	if spec.Release == "" {
		return all, nil
	}
	task, err := b.Task(spec.Task)
	if err != nil {
		return all, err
	}
	set, err := worth.ReadSet(spec.Release, task)
	if err != nil {
		return all, err
	}
	inTurns := set.Chosen == nil || set.Chosen.Form.Turns() || set.Chosen.Evidence.How == prompt.Alone
	if inTurns || spec.Upstream == Embedded && AsJudged(spec, prompt.Prompt{Form: set.Chosen.Form.Name()}) {
		return all, nil
	}
	return append(all, fmt.Sprintf("the records of %s judged its prompt as one text, and this route asks in turns: clients are right less often than the release says. sotto eval measures both; a route with --upstream embedded and all examples answers as the records judged; sotto synth --form chat makes a release for clients that chat, which costs ε again", spec.Release)), nil
}

// ungained is what a release from which nothing was gained says itself; "" for others.
func ungained(dir string) string {
	if dir == "" {
		return ""
	}
	data, err := bounded.ReadFile(filepath.Join(dir, "prompt.json"), bounded.Large)
	if err != nil {
		return "" // it has none
	}
	var says struct {
		Ungained *release.NoGain `json:"nothing_gained"`
	}
	if bounded.UnmarshalJSON(data, bounded.Large, &says) != nil || says.Ungained == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s %s", dir, ui.Visible(says.Ungained.Text), ui.Visible(strings.Join(says.Ungained.Next, " ")))
}

// SetPace gives a route the pace that its plan needs on this machine, unless the operator gave another.
// One that is too short gets a warning.
func (b *Builder) SetPace(ctx context.Context, spec *store.AnswerSpec, given bool) (warnings []string, err error) {
	if given && spec.Pace == 0 {
		return []string{"with --latency-quantum 0 clients see how long each answer takes to write, which shows how many records were drawn: no guarantee covers that"}, nil
	}
	needed, err := b.Pace(ctx, *spec)
	if err != nil {
		return nil, err
	}
	if needed > gateway.MaxTime {
		warnings = append(warnings, fmt.Sprintf("answers of this plan may take up to %v each on this machine, and after %v one is given up, though it was charged: plan for fewer records or shorter answers (--max-tokens), or use a faster model", needed, gateway.MaxTime))
		needed = gateway.MaxTime
	}
	if !given {
		spec.Pace = needed
	} else if hurried := Hurried(spec.Pace, needed); hurried != "" {
		warnings = append(warnings, hurried)
	}
	return warnings, nil
}

// Exposed says what of a service others on its machine can reach. url is the address by which people
// reach the dashboard, if there is a proxy; people is how those of an organisation sign in.
func (o *Options) Exposed(url string, people *config.OIDC) (warnings []string) {
	switch {
	case o.OpenPrivate:
		warnings = append(warnings, "--open-private: every user and program of this machine can ask all routes without a key, and spend the budgets of private records")
	case o.Open:
		warnings = append(warnings, "--open: every user and program of this machine can ask all routes without a key, except for those that answer from private records")
	}
	overTLS := func(url string) bool { return strings.HasPrefix(strings.ToLower(url), "https://") }
	if o.Admin != "" && o.Certificate == "" && !overTLS(url) && (people == nil || !overTLS(people.URL)) {
		warnings = append(warnings, "the dashboard has no TLS: a browser sends its cookies to every port of this host, so that other programs that listen here can act as anyone who is signed in. --tls-cert and --tls-key, or --admin-url with the https address of a proxy, keep them here")
	}
	return warnings
}
