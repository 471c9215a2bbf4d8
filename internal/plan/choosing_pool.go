package plan

import (
	"cmp"

	"github.com/sotto-dp/sotto/internal/method/scheme"
	"github.com/sotto-dp/sotto/privacy"
	"github.com/sotto-dp/sotto/prompt"
)

// ready turns ready-made sets into examples and their places.
func (c *ChooseRequest) ready() (given [][]int) {
	place := map[prompt.Example]int{}
	for i, e := range c.Examples {
		place[e] = i
	}
	for _, set := range c.Sets {
		var at []int
		for _, e := range set {
			i, known := place[e]
			if !known {
				i = len(c.Examples)
				place[e] = i
				c.Examples = append(c.Examples, e)
			}
			at = append(at, i)
		}
		given = append(given, at)
	}
	return given
}

// checkPoolSettings refuses settings that neither the method which writes the pool from
// records has, nor the one which writes it without.
func (r *Request) checkPoolSettings() (err error) {
	writer, public := spec(cmp.Or(r.Method, DefaultWriter)), spec("public")
	for name := range r.Settings {
		if _, ok := public.Setting(name); !ok {
			if r.Settings, err = r.Settings.Check(writer); err != nil {
				return err
			}
			return nil
		}
	}
	r.Settings, err = r.Settings.Check(public)
	return err
}

// pool plans the texts that prompts are made from.
func (r Request) pool(c ChooseRequest) (Plan, error) {
	writing := r
	writing.Choosing, writing.Shots = nil, c.Pool
	if c.NoGeneration { // a plan has parts, and something to write for
		writing.Shots = 1
		if r.Task.Open() && len(r.Conditions) == 0 {
			writing.Conditions = []string{"none"}
		}
	}
	if r.Ending {
		setDefault(&writing.EndingEpsilon, r.Epsilon/20)
	}
	byItself := c.Writing <= 0 || c.NoGeneration
	if byItself {
		writing.Method, writing.Sampler = "public", ""
		writing.Settings = writing.Settings.For(spec("public"))
		if !c.NoGeneration && r.Choosing.Pool == 0 {
			writing.Shots = max(c.Pool, OwnPool)
		}
	} else {
		setDefault(&writing.Method, DefaultWriter)
		writing.Settings = writing.Settings.For(spec(writing.Method))
		writing.Epsilon *= c.Writing
		if r.Count {
			setDefault(&writing.CountEpsilon, r.Epsilon/20)
		}
		if r.Discover {
			setDefault(&writing.DiscoverEpsilon, r.Epsilon/10)
		}
	}
	p, err := New(writing)
	if err != nil {
		return p, err
	}
	p.Epsilon = r.Epsilon
	if c.NoGeneration {
		p.Shots, p.Conditions = 0, nil
	}
	if r.Sampler == scheme.FixedSize && byItself {
		if r.Count || r.Discover || r.Ending {
			return p, wrong("counting and discovery are under add-remove adjacency, and draws of a fixed size are under replace-one: use poisson draws")
		}
		p.Adjacency = privacy.ReplaceOne
	}
	return p, nil
}
