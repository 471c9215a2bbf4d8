package noise

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-dp/sotto/internal/sys/expect"
)

// Words 0, 1, 2 and 130 (past the first buffer) of streams computed with
// Python's hashlib and hmac and OpenSSL's AES-256-CTR from the construction in
// the comment on Key.Stream. A change here breaks the replay of every run.
func TestStreamGolden(t *testing.T) {
	for _, c := range []struct {
		seed    uint64
		purpose string
		indices []uint64
		want    [4]uint64
	}{
		{0, "", nil, [4]uint64{0x6ff08685e090ef15, 0x7f22601f30f64de7, 0xab53f99bae86e866, 0xeb2c4312d4ebb4de}},
		{1, "noise", []uint64{2, 3}, [4]uint64{0xf833ec946dac4ab, 0x17eed4f4369f5fbd, 0xfba28e3326ddae43, 0xa0a255891c2534b4}},
		{1, "noise", []uint64{2}, [4]uint64{0xc2a4f0dcb0d228b7, 0x28c8cfdbb7f5ff92, 0x9b94b9c87d006183, 0xbf959d91f54fb506}},
		{1<<64 - 1, "zufällig", []uint64{0}, [4]uint64{0xe5692402bfacc690, 0x7d6121b590795313, 0xac6c3d7464be99f6, 0x697a3596fe8733be}},
	} {
		s := KeyFromSeed(c.seed).Stream(c.purpose, c.indices...)
		var words []uint64
		for range 131 {
			words = append(words, s.Uint64())
		}
		got := [4]uint64{words[0], words[1], words[2], words[130]}
		if got != c.want {
			t.Errorf("seed %d %q %v: %#x, want %#x", c.seed, c.purpose, c.indices, got, c.want)
		}
	}
}

// Names that run together without lengths must still give different streams.
func TestStreamNamesAreInjective(t *testing.T) {
	k := KeyFromSeed(7)
	zeros := strings.Repeat("\x00", 8)
	names := map[string]*Stream{
		"none":          k.Stream(""),
		"zero index":    k.Stream("", 0),
		"zero purpose":  k.Stream(zeros),
		"two zeros":     k.Stream("", 0, 0),
		"purpose+index": k.Stream(zeros, 0),
		"a, 1":          k.Stream("a", 1),
		"a, 1, 0":       k.Stream("a", 1, 0),
		"other key":     KeyFromSeed(8).Stream(""),
	}
	seen := map[uint64]string{}
	for name, s := range names {
		u := s.Uint64()
		if other, ok := seen[u]; ok {
			t.Errorf("%s and %s give the same stream", name, other)
		}
		seen[u] = name
	}
}

// replay makes a run's worth of draws. It may be called off the test's own
// goroutine.
func replay(t testing.TB, s *Stream) []int64 {
	g, err := NewGaussian(Options{Multiplier: 3, Sensitivity: 5})
	sel, err2 := NewSelector(SelectorOptions{})
	out := make([]int64, 100)
	if err := errors.Join(err, err2, g.AddTo(s, out)); err != nil {
		t.Error(err)
		return nil
	}
	for range 50 {
		i, err := sel.Softmax(s, []int64{1, 2, 3})
		j, err2 := sel.PermuteAndFlip(s, []int64{1, 2, 3})
		if err := errors.Join(err, err2); err != nil {
			t.Error(err)
			return nil
		}
		out = append(out, int64(i), int64(j))
	}
	return out
}

// A run replays bit for bit from an exported key.
func TestReplay(t *testing.T) {
	k := freshKey(t)
	data, err := k.Export()
	if err != nil {
		t.Fatal(err)
	}
	first := replay(t, k.Stream("text", 3))
	back, err := ImportKey(data)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(first, replay(t, back.Stream("text", 3))) {
		t.Error("the run did not replay")
	}
	if slices.Equal(first, replay(t, back.Stream("text", 4))) {
		t.Error("another index gave the same draws")
	}
}

// Two streams side by side: their low nibbles must be uniform over 256 pairs.
func TestStreamsAreIndependent(t *testing.T) {
	f := fit{draws: 200_000, bins: func(float64) []float64 { return uniformBins(256) }}
	k := freshKey(t)
	pairs := map[string][2]*Stream{
		"purposes": {k.Stream("sampling"), k.Stream("noise")},
		"indices":  {k.Stream("noise", 1), k.Stream("noise", 2)},
		"keys":     {k.Stream("noise"), freshKey(t).Stream("noise")},
	}
	for name, pair := range pairs {
		f.sampler = func(testing.TB, float64) func(*Stream) int {
			return func(*Stream) int { return int(pair[0].Bits(4)<<4 | pair[1].Bits(4)) }
		}
		if x := f.excess(t, nil, 1, f.draws); x > 1 {
			t.Errorf("%s: statistic is %.3f times the threshold (false reject rate %.0e)", name, x, falseReject)
		}
	}
	copycat := [2]*Stream{k.Stream("same"), k.Stream("same")}
	f.sampler = func(testing.TB, float64) func(*Stream) int {
		return func(*Stream) int { return int(copycat[0].Bits(4)<<4 | copycat[1].Bits(4)) }
	}
	if x := f.excess(t, nil, 1, f.draws); x <= 1 {
		t.Error("the test does not notice that two streams are the same")
	}
}

// Independent streams of one key may be used at once; the race detector
// watches, and each must give what it gives alone.
func TestConcurrentStreams(t *testing.T) {
	k := freshKey(t)
	var wg sync.WaitGroup
	got := make([][]int64, 8)
	for i := range got {
		wg.Go(func() { got[i] = replay(t, k.Stream("worker", uint64(i))) })
	}
	wg.Wait()
	for i := range got {
		if !slices.Equal(got[i], replay(t, k.Stream("worker", uint64(i)))) {
			t.Errorf("stream %d differs when used beside others", i)
		}
	}
}

func TestPrivate(t *testing.T) {
	osKey, seeded := freshKey(t), KeyFromSeed(1)
	if !osKey.Private() || !osKey.Stream("x").Private() {
		t.Error("a key from the operating system is not marked private")
	}
	if seeded.Private() || seeded.Stream("x").Private() {
		t.Error("a seeded key is marked private")
	}
	data, err := seeded.Export()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ImportKey(data)
	if err != nil {
		t.Fatal(err)
	}
	if back.Private() || back.Stream("x").Private() {
		t.Error("export and import washed a seeded key clean")
	}
	if (Key{}).Private() {
		t.Error("the zero key is marked private")
	}
	if another := freshKey(t); another.Stream("x").Uint64() == osKey.Stream("x").Uint64() {
		t.Error("two new keys are equal")
	}
}

// No way of printing a key may show its bytes, also when it hides in a field.
func TestKeyNeverPrints(t *testing.T) {
	k := freshKey(t)
	data, err := k.Export()
	if err != nil {
		t.Fatal(err)
	}
	raw := data[len(exportMagic)+1:][:KeySize]
	type holder struct {
		hidden  Key
		Visible Key
		Pointer *Key
		stream  *Stream
		value   Stream
		Stream  *Stream
	}
	stream := k.Stream("x")
	stream.Uint64()
	h := holder{k, k, &k, stream, *stream, stream}
	var logged bytes.Buffer
	slog.New(slog.NewTextHandler(&logged, nil)).Info("run", "key", k, "holder", h)
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("run", "key", k, "holder", h)
	out := logged.String() + fmt.Sprint(k, &k, h)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%b", "%o"} {
		out += fmt.Sprintf(verb+" "+verb+" "+verb+" "+verb, k, &k, h, h.Stream)
	}
	js, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	text, err := k.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	out += string(js) + string(text) + k.String() + k.GoString()
	for _, leak := range []string{
		string(raw[:8]), hex.EncodeToString(raw[:8]), strings.ToUpper(hex.EncodeToString(raw[:8])),
		strings.Trim(fmt.Sprint(raw[:8]), "[]"), strings.Trim(fmt.Sprintf("%b", raw[:4]), "[]"),
		strings.Trim(fmt.Sprint(stream.buf[:8]), "[]"), hex.EncodeToString(stream.buf[:8]),
	} {
		if strings.Contains(out, leak) {
			t.Fatalf("printed output contains secret bytes as %q", leak)
		}
	}
	if !strings.Contains(out, redacted) {
		t.Error("nothing was printed in the key's place")
	}
}

func TestErase(t *testing.T) {
	k := freshKey(t)
	duplicate := k
	s := k.Stream("before")
	k.Erase()
	if duplicate.Private() || *duplicate.s.bytes != [KeySize]byte{} {
		t.Error("a copy survived Erase")
	}
	s.Uint64()
	if _, err := k.Export(); err == nil {
		t.Error("exported an erased key")
	}
	Key{}.Erase()
	for name, key := range map[string]Key{"erased": duplicate, "zero": {}} {
		t.Run(name, func(t *testing.T) {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("a %s key made a stream", name)
					}
				}()
				key.Stream("after")
			}()
		})
	}
}

func TestImportKeyRejectsDamage(t *testing.T) {
	data, err := freshKey(t).Export()
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		bad := slices.Clone(data)
		bad[i] ^= 1
		if _, err := ImportKey(bad); !errors.Is(err, ErrKeyFile) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
	}
	for n := range data {
		if _, err := ImportKey(data[:n]); !errors.Is(err, ErrKeyFile) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

func FuzzImportKey(f *testing.F) {
	good, err := KeyFromSeed(1).Export()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("sottokey\x01"))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := ImportKey(data)
		if err != nil {
			return
		}
		again, err := k.Export()
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("accepted a key that exports differently: %v", err)
		}
	})
}

func TestBits(t *testing.T) {
	s := KeyFromSeed(1).Stream("bits")
	for n := -1; n <= 70; n++ {
		var or uint64
		for range 2000 {
			or |= s.Bits(n)
		}
		want := ^uint64(0)
		if n < 64 {
			want = 1<<uint(max(n, 0)) - 1
		}
		if or != want {
			t.Errorf("Bits(%d) reaches %#x, want %#x", n, or, want)
		}
	}
}

// TestDerivedKeys: a key that is derived is the same every time, and draws nothing that
// its parent draws, or another purpose's key: anyone who holds one cannot undo the noise of
// the others. What comes of a seed stays NOT PRIVATE, and of an erased key there is none.
func TestDerivedKeys(t *testing.T) {
	first := func(k Key) uint64 { return k.Stream("noise", 1).Uint64() }
	parent := KeyFromSeed(7)
	a, b := parent.Derive("a"), parent.Derive("b")
	expect.Equal(t, "first(a)", first(a), first(parent.Derive("a")))
	expect.True(t, "first(a) != first(b)", first(a) != first(b))
	expect.True(t, "first(a) != first(parent)", first(a) != first(parent))
	expect.Equal(t, "a.Private()", a.Private(), false)
	fresh, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	derived := fresh.Derive("a")
	expect.Equal(t, "derived.Private", derived.Private(), true)
	expect.True(t, "first(derived) != first(fresh)", first(derived) != first(fresh))
	expect.True(t, "first(derived) != first(parent.Derive(\"a\"))", first(derived) != first(parent.Derive("a")))
	fresh.Erase()
	defer func() {
		if recover() == nil {
			t.Error("an erased key derived another")
		}
	}()
	fresh.Derive("a")
}
