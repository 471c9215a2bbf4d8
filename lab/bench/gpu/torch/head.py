"""The output head: scores of tokens, and the answers to what a message asks."""

import math

import numpy as np
import torch

ROWS = 4096  # of whole rows at once
GIVEN = 1024  # of rows that given tokens are read from at once

# What it takes to gather a row of the head, and to multiply it in a small batch, in products of the large
# multiplication. Orders of magnitude are enough: the ways are far apart under most loads.
GATHER, BATCHED = 400, 32
MOST = 1 << 29  # values gathered at once


def device_longs(model, array):
    return torch.from_numpy(array.astype(np.int64)).to(model.device, non_blocking=True)


def whole(model, message, which):
    """Scores of all tokens for steps, some steps at a time."""
    for at in range(0, len(which), ROWS):
        part = which[at : at + ROWS]
        state = model.states[device_longs(model, message.state[part])]
        yield part, model.times(model.low(state), model.output, wide=True)[:, : model.vocabulary]


def gathers(model, steps, lists, longest):
    """Whether candidates alone cost less than whole rows."""
    cost = longest * (GATHER * lists + BATCHED * steps)
    return cost < steps * model.vocabulary and lists * longest * model.width <= MOST


def listed(model, message, which):
    """Scores of candidates alone, a row for each step: steps that share a list share its rows of the head."""
    lists, group, sizes = np.unique(message.argument[which], return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    rank = np.empty(len(which), np.int64)
    rank[order] = np.arange(len(which)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    scores = torch.empty((len(which), message.lists.shape[1]), device=model.device)
    # Batches are padded to the largest group, so that groups of about one size go together.
    power = np.ceil(np.log2(sizes)).astype(np.int64)
    place = np.empty(len(lists), np.int64)
    for p in np.unique(power):
        chosen = np.nonzero(power == p)[0]
        place[chosen] = np.arange(len(chosen))
        here = np.nonzero(power[group] == p)[0]
        state, at, row, to = (device_longs(model, a) for a in (message.state[which[here]], place[group[here]], rank[here], here))
        left = torch.zeros((len(chosen), int(sizes[chosen].max()), model.width), device=model.device)
        left[at, row] = model.states[state]
        right = model.output[message.lists[device_longs(model, lists[chosen])]]
        scores[to] = model.batch_times(model.low(left), right)[at, row]
    return scores


def candidates(model, message, which):
    """Scores of each step's candidates, padded to the longest list."""
    if len(which) and gathers(model, len(which), len(np.unique(message.argument[which])), message.lists.shape[1]):
        yield which, listed(model, message, which)
        return
    for part, rows in whole(model, message, which):
        yield part, rows.gather(1, message.lists[device_longs(model, message.argument[part])])


def given_rows(message, chosen, first):
    """Of each given token in a pass: the row before it, its place among the tokens, and among the answers."""
    number = message.given[chosen]
    back = np.repeat(np.cumsum(number), number) - np.arange(number.sum())  # 1 for the last of a step
    row = np.repeat(first + message.count[chosen], number) - back - 1
    token = np.repeat(message.token_at[chosen] + message.count[chosen], number) - back
    return [row, token, np.repeat(np.cumsum(message.given)[chosen], number) - back]


def given(model, x, y, plan):
    """Answers for the given tokens of a pass, some rows at a time."""
    for row, token, to in zip(*(part.long().split(GIVEN) for part in plan.given)):
        if len(row) == 0:
            return
        rows = model.times(model.low(model.finish(x, y, row)), model.output, wide=True)[:, : model.vocabulary].float()
        scores = rows.gather(1, plan.all_tokens[token].long()[:, None])[:, 0] - rows.logsumexp(-1)
        plan.answers[to] = torch.stack([rows.argmax(-1).int(), scores.contiguous().view(torch.int32)], 1)


def answer(model, message):
    replies = []
    for part, rows in candidates(model, message, np.nonzero(message.ask == 1)[0]):
        lengths = device_longs(model, message.lengths[message.argument[part]])
        live = torch.arange(message.lists.shape[1], device=model.device)[None] < lengths[:, None]
        replies.append(torch.log_softmax(rows.double().masked_fill(~live, -math.inf), -1)[live].float())
    for part, rows in whole(model, message, np.nonzero(message.ask == 2)[0]):
        rows = torch.log_softmax(rows.float(), -1)
        most = int(message.argument[part].max())
        scores, tokens = rows.topk(most, -1)
        live = torch.arange(most, device=model.device)[None] < device_longs(model, message.argument[part])[:, None]
        # Each row's tokens and then its scores.
        both = torch.cat([tokens.int(), scores.float().contiguous().view(torch.int32)], 1)
        replies.append(both[torch.cat([live, live], 1)])
    for part, rows in whole(model, message, np.nonzero(message.ask == 3)[0]):
        replies.append(torch.log_softmax(rows.double(), -1).float().reshape(-1))
    replies.append(message.answers)
    return [r.cpu().numpy().tobytes() for r in replies]
