package suite

import "slices"

// kind says what a method is about.
type kind struct {
	// reads records, has an ε, guarantees it rather than claims it, writes with the model.
	reads, bounded, claims, writes bool
	// online: answers test items from records, if told or always.
	online, always bool
	// table: for tables, both: also for them. view is the schema that it sees, if it has no
	// choice. learns: it answers by itself, without a language model. endless: an infinite
	// ε is the same without noise.
	table, both, learns, endless bool
	view                         string
	// settings that change something, besides those of all that have demonstrations.
	settings []string
}

// Settings that all with demonstrations have, and all that write answers token by token.
var (
	shared       = []string{"tokens", "shots", "discover", "penalty", "no_repeat", "least"}
	sharedOnline = []string{"tokens", "penalty", "no_repeat", "least"}
)

var kinds = map[string]kind{
	"zero":             {both: true, settings: []string{"view"}},
	"public":           {writes: true, online: true, settings: []string{"temperature", "candidates"}},
	"clipped":          {reads: true, bounded: true, writes: true, online: true, settings: []string{"batch", "temperature", "gain", "centre", "candidates"}},
	"choose":           {reads: true, bounded: true, writes: true, settings: []string{"temperature", "candidates", "rounds", "heats", "records", "first", "next", "pool", "most_shots", "utility", "reading", "work", "writing", "instructions", "own_words", "own"}},
	"mixing":           {reads: true, bounded: true, writes: true, online: true, settings: []string{"batch", "temperature", "candidates", "mean", "most", "per"}},
	"mixing-published": {reads: true, bounded: true, claims: true, writes: true, online: true, settings: []string{"batch", "candidates", "most", "order"}},
	"gaussian":         {reads: true, bounded: true, writes: true, online: true, settings: []string{"prompts", "per_prompt", "candidates"}},
	"noisymax":         {reads: true, bounded: true, writes: true, online: true, settings: []string{"prompts", "per_prompt", "candidates"}},
	"radius":           {reads: true, bounded: true, writes: true, online: true, settings: []string{"prompts", "per_prompt", "candidates", "rounds", "lambda", "sigma0", "sigma2"}},
	"nonprivate":       {reads: true, writes: true, online: true, settings: []string{"prompts", "per_prompt", "candidates"}},
	"real":             {reads: true, both: true, settings: []string{"view", "near"}},
	"vote":             {reads: true, bounded: true, online: true, always: true, settings: []string{"batch", "prompts", "per_prompt", "noise", "ballot", "threshold", "uncalibrated", "temperature", "gain", "centre"}},
	"embedding":        {reads: true, bounded: true, online: true, always: true, settings: []string{"batch", "prompts", "per_prompt", "candidates", "tokens"}},
	"keyword":          {reads: true, bounded: true, online: true, always: true, settings: []string{"batch", "prompts", "per_prompt", "candidates", "tokens", "keywords", "select"}},

	"local":            {reads: true, bounded: true, table: true, endless: true, view: viewLocal, settings: []string{"reconstruct", "split", "near"}},
	"drawn":            {reads: true, bounded: true, table: true, endless: true, view: viewLocal, settings: []string{"noise", "near"}},
	"global":           {reads: true, bounded: true, table: true, endless: true, view: viewGlobal, settings: []string{"noise", "rate"}},
	"global-published": {reads: true, bounded: true, table: true, endless: true, view: viewGlobal, settings: []string{"rate"}},
	"majority":         {reads: true, table: true, learns: true, settings: []string{"view"}},
	"lr":               {reads: true, table: true, learns: true, settings: []string{"view"}},
	"gnb":              {reads: true, table: true, learns: true, settings: []string{"view"}},
	"nb":               {reads: true, table: true, learns: true, settings: []string{"view"}},
	"lr-local":         {reads: true, bounded: true, table: true, learns: true, endless: true, view: viewLocal, settings: []string{"reconstruct", "split"}},
	"gnb-local":        {reads: true, bounded: true, table: true, learns: true, endless: true, view: viewLocal, settings: []string{"reconstruct", "split"}},
	"lr-private":       {reads: true, bounded: true, table: true, learns: true, view: viewGlobal},
	"nb-private":       {reads: true, bounded: true, table: true, learns: true, view: viewGlobal},
}

// The views of a table.
const (
	viewLocal  = "local"
	viewGlobal = "global"
)

// methodNames lists them as people read them.
func methodNames() []string {
	return []string{
		"zero", "public", "choose", "clipped", "mixing", "mixing-published", "gaussian", "noisymax", "radius", "nonprivate", "real",
		"vote", "embedding", "keyword",
		"local", "drawn", "global", "global-published", "majority", "lr", "gnb", "nb", "lr-local", "gnb-local", "lr-private", "nb-private",
	}
}

// choices are what settings in words may be.
var choices = map[string][]string{
	"centre": {"median", "mid-range", "none"},
	"mean":   {"geometric", "product"},
	"per":    {"text", "token"},
	"noise":  {"exponential", "gaussian", "threshold"},
	"ballot": {"hard", "soft"},
	"select": {"joint", "ptr"},

	"utility": {"hard", "soft", "written", "rouge"},
	"reading": {"raw", "calibrated"},

	"view":        {viewGlobal, viewLocal},
	"reconstruct": {"ibu", "inverse"},
	"split":       {"equal", "optimal"},
}

// choicesOf are those of a setting of a method: votes and profiles have different noise.
func choicesOf(method, setting string) []string {
	if setting == "noise" && kinds[method].table {
		return []string{"laplace", "gaussian"}
	}
	return choices[setting]
}

// onlineNames lists methods that can answer online.
func onlineNames() []string {
	return slices.DeleteFunc(methodNames(), func(name string) bool { return !kinds[name].online })
}
