package table

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-dp/sotto/internal/private/internal/seal"
	"github.com/sotto-dp/sotto/internal/rows/origin"
)

// CanAggregate reports whether the source can answer a query by itself: a database that
// encodes every column exactly as a scan does, and has addresses of rows where these are
// drawn. Otherwise, and where Options.PushDown says so, scan.
func (d *Data) CanAggregate(q Query) bool {
	db, ok := d.s.(*database)
	if !ok || d.o.PushDown == Never || d.o.PushDown == Auto && db.e.dialect().Slow {
		return false
	}
	if q.Layout.Check() != nil || d.checkQuery(q) != nil {
		return false
	}
	for _, i := range q.Layout.Columns() {
		c := d.plan(db, i)
		if !c.canEncode(db.e.dialect()) {
			return false
		}
	}
	drawn := q.Rate > 0 && q.Rate < 1
	if !drawn && d.unit == nil {
		return true
	}
	return db.table != nil && db.e.dialect().Address != "" && db.e.addressed(context.Background(), db.table)
}

// checkQuery finds a query that is at odds with the table.
func (d *Data) checkQuery(q Query) error {
	if (d.unit == nil) != (q.RowsPerUnit == 0) || q.RowsPerUnit < 0 {
		return origin.Refuse("units of privacy need both a column and how many rows each may have")
	}
	if !(q.Rate >= 0 && q.Rate <= 1) {
		return origin.Refuse("the sampling rate is not between 0 and 1")
	}
	if q.Rate > 0 && q.Rate < 0x1p-64 {
		// A draw at 2^-64 would be at a larger rate than the event says.
		return origin.Refuse("the sampling rate is below what a database draws by: scan the table")
	}
	for _, i := range q.Layout.Columns() {
		if i < 0 || i >= len(d.encodings) {
			return origin.Refuse("there is no column %d: the schema has %d", i, len(d.encodings))
		}
	}
	stepped := slices.Concat(q.Layout.Sums, q.Layout.Squares)
	for _, h := range q.Layout.Histograms {
		if h.Grid || h.Edges != nil {
			stepped = append(stepped, h.Column)
		}
	}
	for _, i := range stepped {
		if d.encodings[i].codes {
			return origin.Refuse("column %q is read as codes, and has no sums", d.o.Schema.Columns[i].Name)
		}
	}
	return nil
}

func (d *Data) plan(db *database, i int) *columnPlan {
	c := d.o.Schema.Columns[i]
	return &columnPlan{column: c, e: d.encodings[i], class: db.class(c.Name), name: "c" + strconv.Itoa(i)}
}

// Aggregate lets the database add up, by the same encoding as a scan: the cells of the
// layout, exact. Every statement sees the same state of the table.
//
// If there are refused rows then it fails as Scan does, or leaves them out.
func (d *Data) Aggregate(ctx context.Context, q Query) (seal.Totals, error) {
	if err := q.Layout.Check(); err != nil {
		return seal.Totals{}, err
	}
	if err := d.checkQuery(q); err != nil {
		return seal.Totals{}, err
	}
	db, ok := d.s.(*database)
	if !ok || !d.CanAggregate(q) {
		return seal.Totals{}, origin.Refuse("the source cannot add up by itself: scan it")
	}
	a := &aggregation{d: d, db: db, q: q, cells: make([]int64, q.Layout.Groups()*q.Layout.Cells())}
	a.prepare()
	defer a.functions.close()
	end, err := db.e.begin(ctx, false)
	if err != nil {
		return seal.Totals{}, err
	}
	defer end()
	if err := a.sums(ctx); err != nil {
		return seal.Totals{}, err
	}
	a.clean = a.refused == 0
	d.settle(Problems{Count: a.refused})
	if err := d.judge(); err != nil {
		return seal.Totals{}, err
	}
	at := 1 + len(q.Layout.Sums) + len(q.Layout.Squares)
	var counts []groupHistogram
	for _, h := range q.Layout.Histograms {
		counts = append(counts, groupHistogram{h, at})
		at += h.Cells
	}
	atOnce := 1
	if db.e.dialect().Sets {
		atOnce = maxSets
	}
	for some := range slices.Chunk(counts, atOnce) {
		if err := a.histograms(ctx, some); err != nil {
			return seal.Totals{}, err
		}
	}
	return seal.NewTotals(a.cells), nil
}

// aggregation is a query that is being answered.
type aggregation struct {
	d       *Data
	db      *database
	q       Query
	cells   []int64
	refused int64
	// clean: it is known that no row is refused.
	clean bool
	// secrets key the draws: of rows or units, and of the order of a unit's rows.
	secrets [2][32]byte
	// functions are what the database may call.
	functions functions
}

// Names of the streams that keys of draws come from.
const (
	drawing  = "table.aggregate.draw"
	ordering = "table.aggregate.order"
)

// prepare draws keys, and lets databases call the encodings.
func (a *aggregation) prepare() {
	a.functions = offer(a.d.encodings)
	if a.d.unit == nil && a.threshold() == 0 {
		return
	}
	for i, purpose := range []string{drawing, ordering} {
		s := a.q.Key.Stream(purpose)
		for at := 0; at < 32; at += 8 {
			binary.LittleEndian.PutUint64(a.secrets[i][at:], s.Uint64())
		}
	}
}

// threshold is the rate in units of 2^-64, rounded down: a unit that is drawn at a smaller
// rate than the event says costs no more, since its sample is a sample of that one. It is
// 0 if all are drawn.
func (a *aggregation) threshold() uint64 {
	if a.q.Rate <= 0 || a.q.Rate >= 1 {
		return 0
	}
	return uint64(math.Floor(math.Ldexp(a.q.Rate, 64))) // checkQuery: at least 1
}

// rows writes what statements select from: g, the group of each row (-1 if the row is
// refused, -2 if it is not drawn), and the columns that a statement uses.
func (a *aggregation) rows(w *writer, use []int) string {
	raw, codes := map[string]string{}, []string{}
	bad := []string{}
	used := map[int]bool{}
	for _, i := range use {
		used[i] = true
	}
	for _, p := range a.q.Layout.By {
		used[p.Column] = true
	}
	for _, i := range a.q.Layout.Columns() {
		c := a.d.plan(a.db, i)
		c.handle = a.functions.handle(i)
		column := "sotto_rows." + quote(c.column.Name)
		// Parameters that no statement uses are refused, so that this is tried elsewhere.
		if !used[i] && (a.clean || !newWriter(w.d).encode(c, column).refuses) {
			continue
		}
		e := w.encode(c, column)
		for name, x := range e.raw {
			raw[name] = x
		}
		codes = append(codes, "CAST("+e.code+" AS "+w.d.Integer+") AS "+c.name)
		if e.refuses {
			bad = append(bad, c.name+" IS NULL")
		}
	}
	a.address(w, raw)
	if a.d.unit != nil {
		codes = append(codes, "sotto_unit", "sotto_turn")
		bad = append(bad, "sotto_unit IS NULL", "sotto_unit = "+w.text(""))
	} else if a.threshold() > 0 {
		codes = append(codes, "sotto_turn")
	}
	if len(raw) == 0 {
		raw["sotto_none"] = "0"
	}
	inner := "SELECT " + listed(raw) + " FROM " + a.db.from + w.d.Fence
	if len(codes) == 0 {
		codes = []string{"sotto_none"}
	}
	inner = "SELECT " + strings.Join(codes, ", ") + " FROM (" + inner + ") AS sotto_raw" + w.d.Fence
	refused := "1 = 0"
	if len(bad) > 0 {
		refused = strings.Join(bad, " OR ")
	}
	return a.grouped(w, inner, refused)
}

// address adds what rows are drawn by.
func (a *aggregation) address(w *writer, raw map[string]string) {
	d := a.db.e.dialect()
	drawn := a.threshold() > 0
	switch {
	case a.d.unit != nil:
		raw["sotto_unit"] = a.unit(w)
		raw["sotto_turn"] = d.Hash(w.param(d.Key(a.secrets[1]), ""), d.Address)
	case drawn:
		raw["sotto_turn"] = d.Hash(w.param(d.Key(a.secrets[0]), ""), d.Address)
	}
}

// unit is the text of the column of units.
func (a *aggregation) unit(w *writer) string {
	return w.d.Plain("sotto_rows." + quote(a.d.o.Unit))
}

// grouped adds the group to rows.
func (a *aggregation) grouped(w *writer, inner, refused string) string {
	d := a.db.e.dialect()
	out := []string{}
	if a.d.unit != nil {
		// Refused rows take no place among those of their unit.
		inner = fmt.Sprintf("SELECT sotto_coded.*, row_number() OVER (PARTITION BY CASE WHEN %s THEN 1 ELSE 0 END, sotto_unit ORDER BY sotto_turn) AS sotto_place FROM (%s) AS sotto_coded", refused, inner)
		out = append(out, fmt.Sprintf("sotto_place > %d", a.q.RowsPerUnit))
	}
	if t := a.threshold(); t > 0 {
		hash := "sotto_turn"
		if a.d.unit != nil {
			hash = d.Hash(w.param(d.Key(a.secrets[0]), ""), "sotto_unit")
		}
		out = append(out, fmt.Sprintf("NOT (%s < %s)", hash, w.param(d.Threshold(t), "")))
	}
	group := "0"
	for _, p := range a.q.Layout.By {
		group = fmt.Sprintf("(%s) * %d + (%s)", group, p.Classes, classOf(p))
	}
	left := ""
	if len(out) > 0 {
		left = " WHEN " + strings.Join(out, " OR ") + " THEN -2"
	}
	return fmt.Sprintf("SELECT sotto_placed.*, CASE WHEN %s THEN -1%s ELSE %s END AS g FROM (%s) AS sotto_placed%s", refused, left, group, inner, d.Fence)
}

// classOf writes the class of a row by one column.
func classOf(p Partition) string {
	code := "c" + strconv.Itoa(p.Column)
	if p.Cuts != nil {
		code = countCuts(code, p.Cuts)
	}
	if p.Class == nil {
		return code
	}
	byClass := map[uint16][]string{}
	for c, class := range p.Class {
		byClass[class] = append(byClass[class], strconv.Itoa(c))
	}
	var b strings.Builder
	b.WriteString("CASE")
	for class := range uint16(p.Classes) {
		if codes := byClass[class]; codes != nil {
			fmt.Fprintf(&b, " WHEN %s IN (%s) THEN %d", code, strings.Join(codes, ", "), class)
		}
	}
	return b.String() + " END"
}

// countCuts writes how many cuts are at or below a column.
func countCuts(column string, cuts []int32) string {
	if len(cuts) == 0 {
		return "0"
	}
	var b strings.Builder
	b.WriteString("CASE")
	for i, c := range cuts {
		fmt.Fprintf(&b, " WHEN %s < %d THEN %d", column, c, i)
	}
	fmt.Fprintf(&b, " ELSE %d END", len(cuts))
	return b.String()
}

// listed writes a list of named expressions, in order.
func listed(raw map[string]string) string {
	var out []string
	for name, x := range raw {
		out = append(out, x+" AS "+name)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// sums asks for counts, sums and squares, and for how many rows are refused.
func (a *aggregation) sums(ctx context.Context) error {
	l := a.q.Layout
	w := newWriter(a.db.e.dialect())
	list := []string{"g", "count(*)"}
	total := func(x string) { list = append(list, "CAST(sum("+x+") AS "+w.d.Integer+")") }
	for _, i := range l.Sums {
		total("c" + strconv.Itoa(i))
	}
	for _, i := range l.Squares {
		total(fmt.Sprintf("((c%d * c%d) >> 29) - %d", i, i, Steps))
	}
	from := a.rows(w, slices.Concat(l.Sums, l.Squares))
	statement := fmt.Sprintf("SELECT %s FROM (%s) AS sotto_grouped GROUP BY g", strings.Join(list, ", "), from)
	rows := int64(0)
	err := a.ask(ctx, statement, w.args, func(group int64, values []cell) error {
		switch {
		case group == -1:
			a.refused = values[0].whole // whose sums are NULL
		case group >= 0:
			rows += values[0].whole
			for i, v := range values {
				if v.kind != wholeCell {
					return held(w.d.Name)
				}
				a.cells[int(group)*l.Cells()+i] = v.whole
			}
		}
		return nil
	})
	if err == nil && rows > MaxRows {
		return origin.Refuse("the table has more than %d rows: take fewer of them at a time", MaxRows)
	}
	return err
}

// groupHistogram is a histogram, and where its first cell is in a group's.
type groupHistogram struct {
	h  Histogram
	at int
}

// maxSets is how many histograms one statement counts.
const maxSets = 32

// place writes the cell of a histogram that a row is in.
func (k groupHistogram) place(d *Dialect) string {
	column := "c" + strconv.Itoa(k.h.Column)
	switch {
	case k.h.Grid:
		return fmt.Sprintf("%s(((%s + %d) * %d) >> 31, %d)", d.Least, column, Steps, k.h.Cells, k.h.Cells-1)
	case k.h.Edges != nil:
		return countCuts(column, k.h.Edges)
	}
	return column
}

// histograms asks for the rows of each group by some columns: each in a grouping of its own,
// in which the cells of the others are NULL.
func (a *aggregation) histograms(ctx context.Context, some []groupHistogram) error {
	w := newWriter(a.db.e.dialect())
	var use []int
	var places, names, sets []string
	for i, k := range some {
		name := "h" + strconv.Itoa(i)
		use = append(use, k.h.Column)
		places, names = append(places, k.place(w.d)+" AS "+name), append(names, name)
		sets = append(sets, "(g, "+name+")")
	}
	by := "g, h0"
	if len(some) > 1 {
		by = "GROUPING SETS (" + strings.Join(sets, ", ") + ")"
	}
	statement := fmt.Sprintf("SELECT g, %s, count(*) FROM (SELECT g, %s FROM (%s) AS sotto_grouped WHERE g >= 0%s) AS sotto_cells GROUP BY %s",
		strings.Join(names, ", "), strings.Join(places, ", "), a.rows(w, use), w.d.Fence, by)
	return a.ask(ctx, statement, w.args, func(group int64, values []cell) error {
		for i, k := range some {
			if v := values[i]; v.kind == wholeCell && v.whole >= 0 && v.whole < int64(k.h.Cells) {
				a.cells[int(group)*a.q.Layout.Cells()+k.at+int(v.whole)] = values[len(some)].whole
				return nil
			}
		}
		return held(w.d.Name)
	})
}

// ask runs a statement whose cells are all whole numbers or NULL, the first of them a group.
func (a *aggregation) ask(ctx context.Context, statement string, args []any, row func(group int64, values []cell) error) error {
	return a.db.e.query(ctx, statement, args, func(cells []cell) error {
		for _, c := range cells {
			if c.kind != wholeCell && c.kind != nullCell {
				return held(a.db.e.dialect().Name)
			}
		}
		if g := cells[0]; g.kind != wholeCell || g.whole < -2 || g.whole >= int64(a.q.Layout.Groups()) {
			return held(a.db.e.dialect().Name)
		}
		return row(cells[0].whole, cells[1:])
	})
}
