package serve

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/cmd/internal/cli"
	service "github.com/sotto-dp/sotto/cmd/internal/serve"
	"github.com/sotto-dp/sotto/cmd/internal/serve/store"
	"github.com/sotto-dp/sotto/internal/sys/document"
	"github.com/sotto-dp/sotto/internal/ui"
	"github.com/sotto-dp/sotto/internal/ui/flags"
)

func newServeRouteCommand(p *cli.Program) *cobra.Command {
	group := cli.NewGroup("route", "The model names that clients use",
		`Keeps the routes of a service. Every change is a new version, and one can go
back to any of them; requests use the new one within a second.`,
		`  sotto serve route set tickets --upstream openai --model gpt-4o-mini --release demos --task tickets.toml
  sotto serve route answer ask --task tickets.toml --data tickets.jsonl --size 20000 --epsilon 4 --answers 200
  sotto serve route list
  sotto serve route use tickets --version 2
  sotto serve route remove tickets`,
		newServeRouteSetCommand(p),
		newServeRouteAnswerCommand(p),
		newServeRouteUseCommand(p),
		newServeRouteRemoveCommand(p),
		newServeRouteListCommand(p),
	)
	return group
}

// routesResult lists routes.
type routesResult struct {
	Routes []store.Route `json:"routes"`

	headline string
}

func (r *routesResult) Print(p *ui.Page) {
	if r.headline != "" {
		p.Line("%s\n", r.headline)
	}
	if len(r.Routes) == 0 {
		p.Line("there are no routes: sotto serve route set makes one")
		return
	}
	t := ui.NewTable("route", "version", "upstream", "model", "release", "examples", "set", "")
	for _, v := range r.Routes {
		examples, from := ui.If(v.Spec.Release != "", "all"), v.Spec.Upstream
		if v.Spec.Answers != nil {
			from = "private answers: " + cmp.Or(v.Spec.Answers.Dataset, v.Spec.Answers.Data)
		}
		if v.Spec.Nearest > 0 {
			examples = fmt.Sprintf("the nearest %d", v.Spec.Nearest)
		}
		t.Add(v.Name, fmt.Sprint(v.Version), from, v.Spec.Model, v.Spec.Release, examples, cli.Date(v.Created), ui.If(v.Active, "in use"))
	}
	p.Table(t)
}

// routes returns all routes, or the versions of one.
func routes(ctx context.Context, s *store.Store, name, headline string) (ui.Result, error) {
	all, err := s.Routes(ctx, name == "")
	if err != nil {
		return nil, err
	}
	r := &routesResult{Routes: []store.Route{}, headline: headline}
	for _, v := range all {
		if name == "" || v.Name == name {
			r.Routes = append(r.Routes, v)
		}
	}
	return r, nil
}

func newServeRouteSetCommand(p *cli.Program) *cobra.Command {
	var spec store.RouteSpec
	var model flags.Model
	cmd := &cobra.Command{
		Use:   "set NAME --upstream NAME",
		Short: "Make a route, or a new version of one",
		Long: `Makes a route, or a new version of one. The release is read and its certificate
is checked, as when it is served: one that is not private, or whose certificate
does not hold, is refused. One that its records judged in turns is asked in
turns. One that they judged as one text is answered as they judged by the model
in this program (--upstream embedded, without --nearest); on other
upstreams it is asked in turns, with a warning ("sotto synth --form chat" makes
one for those). A classifier of "sotto learn", and a prompt whose records chose
evidence alone, need no upstream: no language model is asked.` + ui.JSONKeys(routesResult{}),
		Example: `  sotto serve route set tickets --upstream embedded --release demos --task tickets.toml --nearest 4
  sotto serve route set labels --release labels --task tickets.toml`,
		Args: cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if spec.Upstream == "" && service.AnswersAlone(spec.Release) {
				spec.Upstream = service.Embedded // which is not asked
			}
			if spec.Upstream == "" {
				return cli.Usage("--upstream is missing: one of your configuration, or %s; a classifier of \"sotto learn\" needs none", service.Embedded)
			}
			if (spec.Release == "") != (spec.Task == "") {
				return cli.Usage("a release comes with the task that it is for: give --release and --task")
			}
			// Anyone who serves may do so from another directory.
			if spec.Release != "" {
				if spec.Release, err = filepath.Abs(spec.Release); err != nil {
					return err
				}
			}
			if spec.Task, err = anchored(spec.Task); err != nil {
				return err
			}
			builder, err := builder(p, model)
			if err != nil {
				return err
			}
			defer builder.Close()
			if err := builder.Check(cmd.Context(), args[0], spec); err != nil {
				return ui.AsUsage(err)
			}
			warnings, err := builder.Warnings(spec)
			p.Warn(warnings...)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), p, true, func(s *store.Store) (ui.Result, error) {
				made, err := s.SetRoute(cmd.Context(), actor(), args[0], spec)
				if err != nil {
					return nil, err
				}
				return routes(cmd.Context(), s, made.Name, fmt.Sprintf("clients can use %s, version %d", made.Name, made.Version))
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&spec.Upstream, "upstream", "", "the `NAME` of an upstream of your configuration, or embedded")
	f.StringVar(&spec.Model, "model", "", "the `NAME` of the model there")
	cli.AddDir(cmd, &spec.Release, "release", "put the examples of the release in `DIR` before every question")
	f.StringVar(&spec.Task, "task", "", "the `TASK` that they are for: a name or a file")
	f.IntVar(&spec.Nearest, "nearest", 0, "only so many examples, those most similar to a question (default: all)")
	_ = cmd.RegisterFlagCompletionFunc("task", cli.CompleteTasks) // the flag exists
	return cmd
}

// anchored makes the path of a task's file, or of its table's, one that holds in any directory.
func anchored(task string) (string, error) {
	path, table := strings.CutPrefix(task, cli.TablePrefix)
	if !document.IsPath(path) {
		return task, nil
	}
	absolute, err := filepath.Abs(path)
	if table {
		absolute = cli.TablePrefix + absolute
	}
	return absolute, err
}

func newServeRouteUseCommand(p *cli.Program) *cobra.Command {
	var version int64
	cmd := &cobra.Command{
		Use:     "use NAME [--version N]",
		Short:   "Go back to another version of a route",
		Long:    `Has requests use another version of a route: the one before, or --version.` + ui.JSONKeys(routesResult{}),
		Example: `  sotto serve route use tickets`,
		Args:    cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				now, err := s.UseRoute(cmd.Context(), actor(), args[0], version)
				if err != nil {
					return nil, ui.AsUsage(err)
				}
				return routes(cmd.Context(), s, args[0], fmt.Sprintf("clients use %s, version %d", args[0], now))
			})
		},
	}
	cmd.Flags().Int64Var(&version, "version", 0, "the `NUMBER` of the version (default: the one before)")
	return cmd
}

func newServeRouteRemoveCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Take a route away from clients",
		Long:    `Takes a route away from clients. Its versions stay: "use" brings it back.` + ui.JSONKeys(routesResult{}),
		Example: `  sotto serve route remove tickets`,
		Args:    cli.Takes("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				if err := s.RemoveRoute(cmd.Context(), actor(), args[0]); err != nil {
					return nil, ui.AsUsage(err)
				}
				return routes(cmd.Context(), s, args[0], fmt.Sprintf("clients can no longer use %s", args[0]))
			})
		},
	}
}

func newServeRouteListCommand(p *cli.Program) *cobra.Command {
	return &cobra.Command{
		Use:     "list [NAME]",
		Short:   "List routes, or all versions of one",
		Long:    `Lists the routes that clients can use, or all versions of one.` + ui.JSONKeys(routesResult{}),
		Example: `  sotto serve route list`,
		Args:    cli.UpTo("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), p, false, func(s *store.Store) (ui.Result, error) {
				name := ""
				if len(args) > 0 {
					name = args[0]
				}
				return routes(cmd.Context(), s, name, "")
			})
		},
	}
}
