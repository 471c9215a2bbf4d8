package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	texts "github.com/sotto-dp/sotto/internal/sys/document"
)

// CheckName says what is wrong with the name of a route.
func CheckName(name string) error {
	if !routeName.MatchString(name) {
		return fmt.Errorf("a route cannot be called %q: take letters, digits and . _ : / -, at most 128", name)
	}
	return nil
}

// routeName is as models are called.
var routeName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}$`)

// Check refuses what would control the terminals on which routes are listed, and texts without end.
func (r RouteSpec) Check() error {
	all := []string{r.Upstream, r.Model, r.Release, r.Task}
	if r.Answers != nil {
		all = append(all, r.Answers.Data, r.Answers.Dataset)
		// A query may have lines.
		if strings.ContainsFunc(r.Answers.Query, func(c rune) bool { return texts.Controls(c) && !unicode.IsSpace(c) }) {
			return errors.New("the query of a route has control characters in it")
		}
	}
	if slices.ContainsFunc(all, func(s string) bool { return !oneLine(s, 4096) }) {
		return errors.New("the names, folders and files of a route have at most 4096 bytes of UTF-8 each, in one line, without control characters")
	}
	return nil
}

// oneLine reports whether a text has at most so many bytes, and nothing that would control a terminal
// on which it is shown.
func oneLine(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, texts.Controls)
}

// RouteSpec is how a route is made.
type RouteSpec struct {
	// Upstream names one of the configuration, and Model the model there; "" if it answers
	// from records.
	Upstream string `json:"upstream,omitempty"`
	Model    string `json:"model,omitempty"`
	// Release is the folder whose prompt goes before questions, for the task that Task names;
	// "" for none.
	Release string `json:"release,omitempty"`
	Task    string `json:"task,omitempty"`
	// Nearest is how many examples go along, those most similar to a question; 0 for all.
	Nearest int `json:"nearest,omitempty"`
	// Answers from private records, in place of all these except Task.
	Answers *AnswerSpec `json:"answers,omitempty"`
}

// AnswerSpec is how questions are answered from private records.
type AnswerSpec struct {
	// Plan of an answer, as package plan writes it. It is public.
	Plan json.RawMessage `json:"plan"`
	// Data is where the records are, by Query if that is a database. Skip leaves out those that
	// cannot be used.
	Data  string `json:"data"`
	Query string `json:"query,omitempty"`
	Skip  bool   `json:"skip_malformed,omitempty"`
	// Dataset is what people call them.
	Dataset string `json:"dataset,omitempty"`
	// Pace: answers are handed out after a whole number of these.
	Pace time.Duration `json:"pace,omitempty"`
}

// Route is a version of a route.
type Route struct {
	Name    string    `json:"name"`
	Version int64     `json:"version"`
	Spec    RouteSpec `json:"spec"`
	Created time.Time `json:"created"`
	By      Actor     `json:"by"`
	// Active: it is the version that requests use.
	Active bool `json:"active"`
}

// SetRoute makes a new version of a route, which requests use from then on.
func (s *Store) SetRoute(ctx context.Context, by Actor, name string, spec RouteSpec) (Route, error) {
	r := Route{Name: name, Spec: spec, Created: s.now().UTC().Truncate(time.Millisecond), By: by, Active: true}
	if err := CheckName(name); err != nil {
		return Route{}, err
	}
	if (spec.Upstream == "") == (spec.Answers == nil) {
		return Route{}, errors.New("a route needs an upstream, or records to answer from")
	}
	if err := spec.Check(); err != nil {
		return Route{}, err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return Route{}, err
	}
	err = s.write(ctx, by, "set route", name, func(tx *sql.Tx) error {
		if err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(version), 0) + 1 FROM service_routes WHERE name = $1", name).Scan(&r.Version); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO service_routes (name, version, spec, created, actor) VALUES ($1, $2, $3, $4, $5)",
			name, r.Version, string(text), r.Created.UnixMilli(), string(by)); err != nil {
			return err
		}
		return activate(ctx, tx, name, r.Version)
	})
	return r, err
}

// activate has requests use a version.
func activate(ctx context.Context, tx *sql.Tx, name string, version int64) error {
	return exec(ctx, tx, "INSERT INTO service_active (name, version) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET version = excluded.version", name, version)
}

// UseRoute goes back, or forward, to a version of a route; 0 is the one before the active one.
func (s *Store) UseRoute(ctx context.Context, by Actor, name string, version int64) (int64, error) {
	err := s.write(ctx, by, "use route", name, func(tx *sql.Tx) error {
		query, args := "SELECT version FROM service_routes WHERE name = $1 AND version = $2", []any{name, version}
		if version == 0 {
			query, args = "SELECT r.version FROM service_routes r JOIN service_active a ON a.name = r.name WHERE r.name = $1 AND r.version < a.version ORDER BY r.version DESC LIMIT 1", []any{name}
		}
		err := tx.QueryRowContext(ctx, query, args...).Scan(&version)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("the route %s has no such version: sotto serve route list shows them", name)
		}
		if err != nil {
			return err
		}
		return activate(ctx, tx, name, version)
	})
	return version, err
}

// RemoveRoute takes a route away from requests. Its versions stay.
func (s *Store) RemoveRoute(ctx context.Context, by Actor, name string) error {
	return s.write(ctx, by, "remove route", name, func(tx *sql.Tx) error {
		n, err := changed(ctx, tx, "DELETE FROM service_active WHERE name = $1", name)
		return someRow(n, err, fmt.Errorf("there is no route %s: sotto serve route list shows those there are", name))
	})
}

// Routes returns all versions of all routes, or the active ones.
func (s *Store) Routes(ctx context.Context, active bool) ([]Route, error) {
	query := "SELECT r.name, r.version, r.spec, r.created, r.actor, CASE WHEN a.version IS NULL THEN 0 ELSE 1 END FROM service_routes r LEFT JOIN service_active a ON a.name = r.name AND a.version = r.version"
	if active {
		query += " WHERE a.version IS NOT NULL"
	}
	return list(ctx, s.db, func(rows *sql.Rows, r *Route) error {
		var spec string
		if err := rows.Scan(&r.Name, &r.Version, &spec, instant(&r.Created), &r.By, &r.Active); err != nil {
			return err
		}
		if json.Unmarshal([]byte(spec), &r.Spec) != nil {
			r.Spec = RouteSpec{} // it cannot be served, and the others can
		}
		return nil
	}, query+" ORDER BY r.name, r.version")
}
