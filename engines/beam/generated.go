package beam

import (
	"context"
	"fmt"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/privacy/noise"
)

// syntheticTable is a table of made-up rows, to test and to measure a runner without data.
// Every value of a column is as likely as any other. Rows depend on the seed and on
// their place alone.
type syntheticTable struct {
	Rows int64  `json:"rows"`
	Seed uint64 `json:"seed"`
	// Units is how many units of privacy the rows belong to; 0 if rows are units.
	Units uint64 `json:"units,omitempty"`
}

// generatedRows is how many rows a block of a generated table has.
const generatedRows = 1 << 13

func (g *syntheticTable) parts() ([]Part, error) {
	if g.Rows < 0 || g.Rows > table.MaxRows {
		return nil, fmt.Errorf("%d rows cannot be generated: ask for 0 to %d", g.Rows, int64(table.MaxRows))
	}
	return []Part{{Blocks: (g.Rows + generatedRows - 1) / generatedRows}}, nil
}

// scan hands out the whole table in order, as the workers of a pipeline see it in parts.
func (g *syntheticTable) scan(r rows, each func(*table.Batch) error) error {
	parts, err := g.parts()
	if err != nil {
		return err
	}
	o, err := r.openGenerated(parts[0])
	if err != nil {
		return err
	}
	for n := range parts[0].Blocks {
		if err := o.block(context.Background(), n, each); err != nil {
			return err
		}
	}
	return nil
}

type syntheticReader struct {
	table   *syntheticTable
	part    Part
	key     noise.Key
	columns []int
	domains []uint64 // of the columns; 0 if it is read as steps
	batch   table.Batch
}

func (r rows) openGenerated(p Part) (*syntheticReader, error) {
	o := &syntheticReader{table: r.Source.Generated, part: p, key: noise.KeyFromSeed(r.Source.Generated.Seed), columns: r.Columns}
	for _, c := range r.Columns {
		if c < 0 || c >= len(r.Schema.Columns) {
			return nil, fmt.Errorf("there is no column number %d: the schema has %d", c, len(r.Schema.Columns))
		}
		column := r.Schema.Columns[c]
		domain := uint64(0)
		if !r.steps(c) {
			domain = uint64(len(column.Domain()))
		}
		o.domains = append(o.domains, domain)
	}
	for _, d := range o.domains {
		o.batch.Columns = append(o.batch.Columns, table.NewVector(d > 0, generatedRows))
	}
	if o.table.Units > 0 {
		o.batch.Units = make([]table.Unit, generatedRows)
	}
	return o, nil
}

func (o *syntheticReader) Close() error { return nil }

func (o *syntheticReader) block(_ context.Context, n int64, each func(*table.Batch) error) error {
	first := n * generatedRows
	b := &o.batch
	b.Index, b.First = o.part.index(n), first+1
	b.Cut(int(min(generatedRows, o.table.Rows-first)))
	for i, d := range o.domains {
		v := &b.Columns[i]
		s := o.key.Stream("generated/column", uint64(o.columns[i]), uint64(n))
		if d > 0 {
			for row := range v.Codes {
				v.Codes[row] = uint16(s.Uint64n(d))
			}
			continue
		}
		for row := range v.Steps {
			v.Steps[row] = int32(int64(s.Uint64n(2*table.Steps+1)) - table.Steps)
		}
	}
	if o.table.Units > 0 {
		s := o.key.Stream("generated/unit", uint64(n))
		for row := range b.Units {
			b.Units[row][0] = s.Uint64n(o.table.Units)
		}
	}
	return each(b)
}
