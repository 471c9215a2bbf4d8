package decode

import (
	"slices"
	"testing"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/internal/private/draw/drawtest"
	"github.com/sotto-dp/sotto/internal/private/internal/mechanism"
)

// acting is a subject that declares what one method does and does what another one does.
func acting(declared Method, does subject) subject {
	return subject{declared, does.looks, does.chances}
}

// scaled are selections at another rate, or with other scores.
func scaled(m Method, of func(View) mechanism.Selection, chances func(mechanism.Selection) []float64) subject {
	return subject{
		m,
		func(v View, _ *script) []look { return []look{lookOf(of(v))} },
		func(v View) []float64 { return chances(of(v)) },
	}
}

// asked is a Gaussian question with other noise or other values.
func asked(m Method, of func(View) mechanism.Query) subject {
	return subject{
		m,
		func(v View, _ *script) []look { return []look{lookAt(of(v))} },
		func(v View) []float64 { return largestOf(of(v)) },
	}
}

// The bugs. Each declares an event and does something that costs more.

func forgottenRoot(g *Gaussian) subject {
	return asked(g, func(v View) mechanism.Query {
		q := g.query(v)
		q.Sensitivity = 1 << mass
		return q
	})
}

func unnormalised(g *Gaussian) subject {
	return asked(g, func(v View) mechanism.Query {
		q := g.query(v)
		// Probabilities of the whole vocabulary, say, that do not add up to one here.
		q.Values = sumOf(v, relative)
		return q
	})
}

func fullRate(n *NoisyMax) subject {
	return scaled(n, func(v View) mechanism.Selection {
		c := n.selection(v)
		c.Rate *= 2
		return c
	}, noisyMaxOf)
}

func wideClip(c *Clipped, times float64) subject {
	wide := *c
	wide.Range *= times
	return acting(c, clippedSubject(&wide))
}

// realised divides by the number of records that were drawn instead of the expected one.
func realised(c *Clipped) subject {
	return scaled(c, func(v View) mechanism.Selection {
		out := c.selection(v)
		base := c.selection(View{Public: v.Public, Base: v.Base})
		for i := range out.Scores {
			private := float64(out.Scores[i] - base.Scores[i])
			out.Scores[i] = base.Scores[i] + int64(private*c.Expected/float64(max(1, len(v.Prompts))))
		}
		return out
	}, softmaxOf)
}

// asIfAdded takes C for one vector more or less where vectors are exchanged.
func asIfAdded(c *Clipped) subject {
	added := *c
	added.Draw = perText(0.5)
	return acting(c, clippedSubject(&added))
}

// quieter is radius with less noise than declared in one kind of its questions.
func quieter(r *Radius, which func(mechanism.Query) bool, factor float64) subject {
	return subject{
		r,
		func(v View, answers *script) []look {
			var out []look
			_, err := r.pick(newCloud(v), func(q mechanism.Query) error {
				l := lookAt(q)
				if which(q) {
					l.deviation.Mul(l.deviation, rat(factor))
				}
				out = append(out, l)
				answers.answer(len(out)-1, q)
				return nil
			})
			if err != nil {
				panic(err)
			}
			return out
		},
		nil,
	}
}

// unprojected leaves the points outside of the ball where they are.
func unprojected(r *Radius) subject {
	return subject{
		r,
		func(v View, answers *script) []look {
			var out []look
			c := newCloud(v)
			_, err := r.pick(c, func(q mechanism.Query) error {
				if len(out) > 2*searches && len(q.Values) == c.width {
					copy(q.Values, c.sum())
				}
				out = append(out, lookAt(q))
				answers.answer(len(out)-1, q)
				return nil
			})
			if err != nil {
				panic(err)
			}
			return out
		},
		nil,
	}
}

// TestPlantedSensitivities: the check of sensitivity finds every one of these.
func TestPlantedSensitivities(t *testing.T) {
	pick := func(name string) Method { return subjects()[name].Method }
	gaussian, noisymax, radius := pick("gaussian").(*Gaussian), pick("noisymax").(*NoisyMax), pick("radius").(*Radius)
	clipped := func(name string) *Clipped { return pick(name).(*Clipped) }
	mixing := func(name string) *Mixing { return pick(name).(*Mixing) }
	covered := func(q mechanism.Query) bool { return len(q.Values) == 1 && q.Sensitivity == 1<<counts }
	agreed := func(q mechanism.Query) bool { return len(q.Values) == 1 && q.Sensitivity > 1<<counts }
	sums := func(q mechanism.Query) bool { return len(q.Values) > 1 }
	for bug, s := range map[string]subject{
		"gaussian: forgotten √2":                   forgottenRoot(gaussian),
		"gaussian: not normalised":                 unnormalised(gaussian),
		"noisymax: rate not halved":                fullRate(noisymax),
		"clipped: a little too wide":               wideClip(clipped("clipped"), 1.001),
		"clipped: half as much again":              wideClip(clipped("clipped"), 1.5),
		"clipped: realised size":                   realised(clipped("clipped")),
		"clipped: exchange taken for more or less": asIfAdded(clipped("clipped, several a prompt")),
		"clipped: the same for a fixed size":       asIfAdded(clipped("clipped, fixed size")),
		"mixing: a little too wide":                wideMixing(mixing("mixing"), 1.001),
		"mixing: twice as wide":                    wideMixing(mixing("mixing"), 2),
		"mixing: λ without a limit":                unlimited(mixing("mixing")),
		"mixing: range of some candidates":         partRange(mixing("mixing")),
		"mixing: realised size":                    realisedMixing(mixing("mixing")),
		"mixing: least of all prompts":             minOfAll(mixing("mixing")),
		"mixing: exchange taken for more or less":  mixingAsIfAdded(mixing("mixing, several a prompt")),
		"mixing: the same for a fixed size":        mixingAsIfAdded(mixing("mixing, fixed size")),
		"radius: coverage counted as nothing":      quieter(radius, covered, 0.5),
		"radius: mean instead of sum of counts":    quieter(radius, agreed, 0.25),
		"radius: R for 2R":                         quieter(radius, sums, 0.5),
		"radius: points left where they are":       unprojected(radius),
	} {
		found := false
		for i := 0; i < 4000 && !found; i++ {
			p := pairs(s.Scheme()).Example(i)
			found = moved(s, p.a, p.b, scripts().Example(i)) != nil
		}
		if !found {
			t.Errorf("%s: not found", bug)
		}
	}
}

// chunks cuts the drawn list into prompts of PerPrompt one after the other.
func chunks(l scheme.Scheme, n int) []joint {
	all := l
	all.Prompts, all.PerPrompt = 0, 0
	var out []joint
	for _, o := range drawtest.Outcomes(all, n) {
		drawn := slices.Concat(o.Prompts...)
		cut := drawtest.Outcome{Empty: l.Prompts}
		for chunk := range slices.Chunk(drawn, l.PerPrompt) {
			if cut.Empty > 0 {
				cut.Prompts, cut.Empty = append(cut.Prompts, chunk), cut.Empty-1
			}
		}
		out = append(out, joint{o.Probability, []drawtest.Outcome{cut}})
	}
	return out
}

// independent draws each of two texts by itself, at the rate of disjoint batches.
func independent(l scheme.Scheme, n int) []joint {
	one := single(l, n)
	var out []joint
	for _, a := range one {
		for _, b := range one {
			out = append(out, joint{a.probability * b.probability, slices.Concat(a.texts, b.texts)})
		}
	}
	return out
}

// TestPlantedMechanisms: the check of whole mechanisms finds every one of these, first
// wrong picks, then wrong draws.
func TestPlantedMechanisms(t *testing.T) {
	of := func(name string, change func(*trial)) trial {
		c := trials()[name]
		change(&c)
		return c.withDefaults()
	}
	clipped := func(c *trial) *Clipped { return c.Method.(*Clipped) }
	mixing := func(c *trial) *Mixing { return c.Method.(*Mixing) }
	frequent := func(c *trial) {
		// A draw that all records are in leaves nothing to sampling.
		m := *clipped(c)
		m.Draw.Rate = 1
		c.subject = clippedSubject(&m)
	}
	bugs := map[string]trial{
		"gaussian: forgotten √2":      of("gaussian", func(c *trial) { c.subject = forgottenRoot(c.Method.(*Gaussian)) }),
		"noisymax: rate not halved":   of("noisymax", func(c *trial) { c.subject = fullRate(c.Method.(*NoisyMax)) }),
		"clipped: half as much again": of("clipped, two tokens", func(c *trial) { c.subject = wideClip(clipped(c), 1.5) }),
		"clipped: realised size": of("clipped, two tokens", func(c *trial) {
			frequent(c)
			c.subject = realised(clipped(c))
		}),
		"clipped: exchange taken for more or less": of("clipped, several a prompt", func(c *trial) { c.subject = asIfAdded(clipped(c)) }),

		"clipped: the same for a fixed size": of("clipped, fixed size", func(c *trial) { c.subject = asIfAdded(clipped(c)) }),
		"mixing: half as much again":         of("mixing, product", func(c *trial) { c.subject = wideMixing(mixing(c), 1.5) }),
		"mixing: λ without a limit":          of("mixing", func(c *trial) { c.subject = unlimited(mixing(c)) }),
		"mixing: range of some candidates":   of("mixing", func(c *trial) { c.subject = partRange(mixing(c)) }),
		"mixing: realised size": of("mixing, product", func(c *trial) {
			m := *mixing(c)
			m.Draw.Rate = 1
			c.subject = realisedMixing(&m)
		}),
		"mixing: exchange taken for more or less": of("mixing, several a prompt", func(c *trial) { c.subject = mixingAsIfAdded(mixing(c)) }),

		"mixing: the same for a fixed size":  of("mixing, fixed size", func(c *trial) { c.subject = mixingAsIfAdded(mixing(c)) }),
		"mixing: rules look at records":      of("mixing, contain", func(c *trial) { c.choose = mustContain(4, recordScores) }),
		"mixing: as published, with a proof": of("mixing, fixed size", func(c *trial) { c.subject = asPublished(mixing(c)) }),
		"gaussian: rules look at records":    of("gaussian, contain", func(c *trial) { c.choose = mustContain(4, recordScores) }),
		"clipped: rules look at records":     of("clipped, contain", func(c *trial) { c.choose = mustContain(4, recordScores) }),
		"radius: a third of the noise": of("radius", func(c *trial) {
			r := *c.Method.(*Radius)
			r.Sigma1 /= 3
			c.subject = acting(c.Method, radiusSubject(&r))
		}),

		"consecutive chunks": of("gaussian", func(c *trial) {
			g := *c.Method.(*Gaussian)
			g.Draw.Rate = 1
			c.subject, c.draws, c.records = gaussianSubject(&g), chunks, 3
		}),
		"one draw for all tokens, declared as fresh ones": of("gaussian", func(c *trial) {
			g := *c.Method.(*Gaussian)
			g.Draw.Rate = 0.05
			c.subject, c.kept, c.steps = gaussianSubject(&g), true, 5
		}),
		"independent draws, declared as disjoint batches": of("clipped, disjoint", func(c *trial) {
			m := *clipped(c)
			m.Range = 2
			c.subject, c.draws, c.steps = clippedSubject(&m), independent, 1
		}),
	}
	for bug, c := range bugs {
		if worst := c.worst(t); worst <= 1 {
			t.Errorf("%s: not found, it reaches %.3f of what is declared", bug, worst)
		}
	}
}
