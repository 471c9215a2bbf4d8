package beam

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/sotto-dp/sotto/internal/private/table"
	"github.com/sotto-dp/sotto/internal/private/table/global"
	"github.com/sotto-dp/sotto/privacy/noise"
)

func init() {
	register.DoFn4x1[context.Context, *sdf.LockRTracker, Part, func(int, []byte), error](&routeFn{})
	register.DoFn4x1[context.Context, int, func(*[]byte) bool, func([]byte), error](&gatherFn{})
	register.Emitter2[int, []byte]()
	register.Iter1[[]byte]()
}

// bounded adds up a table in which units have several rows. Rows are sent to the worker
// that has their unit, which keeps as many as the settings allow. The number of workers'
// shares is public; which of them get rows shows within the pipeline only.
func bounded(s sdk.Scope, fn sumFn, parts sdk.PCollection, empty []byte) sdk.PCollection {
	sent := sdk.ParDo(s.Scope("Route"), &routeFn{scan: fn.scan, Settings: fn.Settings, Key: fn.Key}, parts)
	gather := &gatherFn{Settings: fn.Settings, Key: fn.Key}
	gather.Rows = fn.Rows
	sums := sdk.ParDo(s.Scope("Gather"), gather, sdk.GroupByKey(s, sent))
	// Without any row there are sums all the same.
	return sdk.Flatten(s, sums, sdk.Create(s, empty))
}

const (
	// shares is into how many the units are divided. A worker holds one of them.
	shares = 64
	// shipment is about how many bytes of rows are sent at once.
	shipment = 1 << 16
)

// share is where the rows of a unit go.
func share(unit table.Unit) int { return int(unit[0] * 0x9e3779b97f4a7c15 >> 58) }

// Names of what workers derive from their key.
const (
	unitSecret     = "beam.unit"
	shipmentSecret = "beam.shipment"
)

func secret(key noise.Key, purpose string) []byte {
	var out []byte
	for s := key.Stream(purpose); len(out) < 32; {
		out = binary.LittleEndian.AppendUint64(out, s.Uint64())
	}
	return out
}

// unitHash stands for units by 128 bits of HMAC-SHA-256.
type unitHash struct {
	h   hash.Hash
	sum [sha256.Size]byte
}

func (r rows) unitHash() (*unitHash, error) {
	if len(r.units) == 0 {
		return nil, errNoUnitKey
	}
	return &unitHash{h: hmac.New(sha256.New, r.units)}, nil
}

var errNoUnitKey = errors.New("units are known by a keyed hash, and this worker has no key")

func (u *unitHash) of(text []byte) table.Unit {
	u.h.Reset()
	u.h.Write(text)
	sum := u.h.Sum(u.sum[:0])
	return table.Unit{binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])}
}

// unitFolder makes a private folder for the reader of whole files, with the key that all
// workers have.
func (r rows) unitFolder(folder string) (string, error) {
	if len(r.units) == 0 {
		return "", errNoUnitKey
	}
	return folder, os.WriteFile(filepath.Join(folder, "fingerprint.key"), r.units, 0o600)
}

// sealer keeps rows from being read on the disks of a runner.
type sealer struct{ cipher.AEAD }

func newSealer(key noise.Key) (sealer, error) {
	block, err := aes.NewCipher(secret(key, shipmentSecret))
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead}, err
}

// routeFn sends the rows of sampled units to where they are gathered.
type routeFn struct {
	scan
	Settings global.Settings `json:"settings"`
	Key      keyFile         `json:"key"`

	picker *global.Picker
	sealer sealer
}

// Setup prepares a worker.
func (fn *routeFn) Setup(ctx context.Context) error {
	m, err := global.New(fn.Rows.Schema, fn.Settings)
	if err != nil {
		return err
	}
	key, err := fn.Key.read(ctx)
	if err != nil {
		return err
	}
	fn.Rows.units = secret(key, unitSecret)
	if fn.picker, err = m.Picker(key); err != nil {
		return err
	}
	fn.sealer, err = newSealer(key)
	return err
}

// ProcessElement sends the rows of a range of a part.
func (fn *routeFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, p Part, emit func(int, []byte)) error {
	var full [shares][]byte
	send := func(to int) {
		emit(to, fn.sealer.Seal(nil, nil, full[to], nil))
		full[to] = full[to][:0]
	}
	err := fn.claims(ctx, rt, p, func(o blockReader, claim int64) error {
		return fn.batches(ctx, o, p, claim, func(b *table.Batch) error {
			if len(b.Units) != b.Rows {
				return errNoUnits
			}
			for i, unit := range b.Units {
				if !fn.picker.Unit(unit) {
					continue
				}
				to := share(unit)
				if full[to] = appendRow(full[to], b, i); len(full[to]) >= shipment {
					send(to)
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for to, rest := range full {
		if len(rest) > 0 {
			send(to)
		}
	}
	return nil
}

var errNoUnits = errors.New("rows came without the unit that they belong to: name the column of units")

// appendRow writes a row down: its unit, its ordinal, and its values.
func appendRow(to []byte, b *table.Batch, i int) []byte {
	to = binary.LittleEndian.AppendUint64(to, b.Units[i][0])
	to = binary.LittleEndian.AppendUint64(to, b.Units[i][1])
	to = binary.LittleEndian.AppendUint64(to, uint64(b.First+int64(i)))
	for _, v := range b.Columns {
		to = binary.LittleEndian.AppendUint32(to, uint32(v.At(i)))
	}
	return to
}

// gatherFn bounds the rows of units and adds them up.
type gatherFn struct {
	Rows     rows            `json:"rows"`
	Settings global.Settings `json:"settings"`
	Key      keyFile         `json:"key"`

	mechanism *global.Mechanism
	key       noise.Key
	sealer    sealer
}

// Setup prepares a worker.
func (fn *gatherFn) Setup(ctx context.Context) (err error) {
	if fn.mechanism, err = global.New(fn.Rows.Schema, fn.Settings); err != nil {
		return err
	}
	if fn.key, err = fn.Key.read(ctx); err != nil {
		return err
	}
	fn.sealer, err = newSealer(fn.key)
	return err
}

// ProcessElement adds up the rows of a share of the units.
func (fn *gatherFn) ProcessElement(ctx context.Context, _ int, each func(*[]byte) bool, emit func([]byte)) error {
	sums, err := fn.mechanism.Collect(ctx, &shipments{fn: fn, each: each}, fn.key, 1)
	if err != nil {
		return err
	}
	emit(sums.Export())
	return nil
}

// shipments are rows that were sent, as a table: each is a batch, because its ordinal
// decides whether it is kept.
type shipments struct {
	fn   *gatherFn
	each func(*[]byte) bool
}

// Scan hands them out.
func (s *shipments) Scan(ctx context.Context, columns []int, _ int, each func(int, *table.Batch) error) error {
	b := &table.Batch{Rows: 1, Units: make([]table.Unit, 1)}
	for _, c := range columns {
		b.Columns = append(b.Columns, table.NewVector(!s.fn.Rows.steps(c), 1))
	}
	size := 24 + 4*len(columns)
	for sealed := []byte(nil); s.each(&sealed); {
		data, err := s.fn.sealer.Open(nil, nil, sealed, nil)
		if err != nil || len(data)%size != 0 {
			return fmt.Errorf("rows were damaged on their way between workers, run the job again: %w", err)
		}
		for ; len(data) > 0; data = data[size:] {
			b.Units[0] = table.Unit{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint64(data[8:])}
			b.First = int64(binary.LittleEndian.Uint64(data[16:]))
			for i := range b.Columns {
				b.Columns[i].Set(0, int32(binary.LittleEndian.Uint32(data[24+4*i:])))
			}
			if err := each(0, b); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
