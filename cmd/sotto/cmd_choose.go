package main

import (
	"github.com/spf13/cobra"

	"github.com/sotto-dp/sotto/internal/method"
)

// newChooseCommand has records choose among what the user already has. It is synth without
// the writing.
func newChooseCommand(p *program) *cobra.Command {
	var opt synthOptions
	cmd := &cobra.Command{
		Use:   "choose --task T --data F --size N --epsilon E --set A --set B --out DIR",
		Short: "Have private records choose among prompts that you already have",
		Long: `Has private records choose among prompts: sets of examples that you have
(--set, a file of examples or the folder of a release; may be repeated), or sets
that are made from public examples of yours (--examples) or of a model that sees
no record (--pool-model), with the task's own instruction or others
(--instruction). No examples at all is always a candidate. All of it must be
public: what wins is released, with a certificate.

Ready-made sets are chosen from in one round, unless --rounds asks for more, in
which variations of the winner compete. Nothing is written, so that all of ε is
for choosing and for saying in the end on how many records the model is right.

The rest is as in "sotto synth".

` + modelHelp + `

Keys of --json: those of "sotto synth": dir, files, method, private, event,
epsilon, delta, adjacency, unit, guarantee, inner, texts, chosen, worth, model,
model_tokens_planned, charge, ledger, keys, resumed, warnings.`,
		Example: `  sotto choose --task mine.toml --data tickets.csv --size 20000 --epsilon 0.5 --set ours.jsonl --set demos --out chosen
  sotto choose --task agnews --data news.jsonl --size 120000 --epsilon 1 --examples public.jsonl --out chosen`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(opt.sets) == 0 && len(opt.examples) == 0 && opt.poolModel == "" {
				return usage("there is nothing to choose from: name sets of examples (--set), public examples to make sets from (--examples), or a model that writes some (--pool-model)")
			}
			opt.method, opt.bare = methodChoose, true
			if err := opt.explicit("public"); err != nil {
				return err
			}
			return runSynth(cmd.Context(), p, opt, cmd.Flags().Changed("seed"))
		},
	}
	opt.addChoose(cmd)
	p.addPrivate(cmd)
	return cmd
}

func (o *synthOptions) addChoose(cmd *cobra.Command) {
	o.textFlags.add(cmd, method.Texts)
	o.modelFlags.add(cmd)
	o.sourceFlags.add(cmd, "choices")
	o.chooseFlags.add(cmd)
	o.addMeasure(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.sets, "set", nil, "a set of examples to choose from, a `FILE` or the folder of a release; may be repeated")
	f.StringVar(&o.out, "out", "", "the `DIR` to write to, also to go on with a run; required")
	_ = cmd.MarkFlagDirname("out") // the flag exists
	addKeys(cmd, &o.keys)
}
