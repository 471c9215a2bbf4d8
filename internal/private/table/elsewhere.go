package table

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/keys"
	"github.com/sotto-dp/sotto/internal/private/internal/rowsketch"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// elsewhere is a table that this process does not read: its rows are in places that an
// engine's workers open.
type elsewhere struct {
	places []string
	names  []string
}

// OpenElsewhere stands for a table whose rows an engine reads, in places such as
// gs://bucket/rows.csv. It looks at none of them. As a table in a database, it is known by
// where it is. A place that is named twice, also in another spelling, is refused.
func OpenElsewhere(places []string, o Options) (*Data, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Table != "" || o.Query != "" {
		return nil, origin.Refuse("there is a table or a query, and the rows are in files: leave it out")
	}
	e := &elsewhere{}
	first := map[string]string{}
	var here []string
	var infos []fs.FileInfo
	for _, p := range places {
		name, info := spelled(p)
		if other, ok := first[name]; ok {
			return nil, twice(other, p)
		}
		first[name] = p
		e.places = append(e.places, name)
		if info != nil {
			here, infos = append(here, p), append(infos, info)
		}
	}
	if err := distinct(here, infos); err != nil {
		return nil, err
	}
	slices.Sort(e.places)
	e.names = o.wanted()
	return newData(e, o)
}

// spelled is a place in a form that all its spellings share. Of a file of this machine the
// second value says which it is.
func spelled(place string) (string, fs.FileInfo) {
	scheme, rest, ok := strings.Cut(place, "://")
	if !ok {
		if full, err := filepath.Abs(place); err == nil {
			place = full
		}
		info, err := os.Stat(place)
		if err != nil {
			info = nil
		}
		return place, info
	}
	host, rest, _ := strings.Cut(rest, "/")
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	return fmt.Sprintf("%s://%s%s", strings.ToLower(scheme), strings.ToLower(host), path.Clean("/"+rest)), nil
}

func (e *elsewhere) header() []string { return e.names }
func (e *elsewhere) close() error     { return nil }

func (e *elsewhere) scan(context.Context, *pass) error {
	return origin.Refuse("the rows are elsewhere, and are not read from here")
}

func (e *elsewhere) sketch(context.Context, []*rowsketch.Rows) error {
	return origin.Refuse("the rows are elsewhere, and are not read from here: nothing is known of them but what their owner says")
}

func (e *elsewhere) fingerprint(_ context.Context, key keys.Key) ([32]byte, error) {
	return keys.NewMAC(key.For("table place")).Of(append([]string{"elsewhere"}, e.places...)...), nil
}
