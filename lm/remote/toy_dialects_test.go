package remote

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-dp/sotto/lm"
)

func (s *toy) modelList(owner string) any {
	return object{"object": "list", "data": []any{object{
		"id": "toy", "object": "model", "owned_by": owner, "root": "/models/toy", "max_model_len": toyLimit + 1,
		"meta": object{"n_vocab": toySize, "n_params": 12, "size": 34, "ftype": "F32"},
	}}}
}

// openaiWrite answers for text as OpenAI's interface does.
func (s *toy) openaiWrite(w http.ResponseWriter, body object, chat bool) any {
	var prompt []lm.Token
	switch p := body["prompt"].(type) {
	case string:
		prompt = s.encode(p, true)
	case []any:
		prompt = tokens(p)
	}
	if chat {
		prompt = s.encode(s.render(body["messages"]), true)
	}
	limit := "max_tokens"
	if s.modern && chat {
		if limit = "max_completion_tokens"; body["max_tokens"] != nil {
			return refuse(w, 400, "invalid_request_error", "max_tokens")
		}
	}
	if len(prompt) > toyLimit {
		return refuse(w, 400, "BadRequestError", "messages")
	}
	defer s.work([][]lm.Token{prompt})()
	text, n, finish := s.write(prompt, number(body[limit]), strs(body["stop"]))
	s.tokens.Add(int64(len(prompt) + n))
	reason := map[lm.Finish]string{lm.FinishEnd: "stop", lm.FinishStop: "stop", lm.FinishLength: "length"}[finish]
	usage := object{"prompt_tokens": len(prompt), "completion_tokens": n, "total_tokens": n + len(prompt)}
	if salt := body["cache_salt"]; salt != nil || s.forgets {
		usage["prompt_tokens_details"] = object{"cached_tokens": s.cached(prompt, salt)}
	}
	if strings.Contains(s.decode(prompt, false), toyForbidden) {
		reason = "content_filter"
	}
	choice := object{"index": 0, "finish_reason": reason, "text": text}
	if s.dialect == VLLM && finish == lm.FinishStop {
		choice["stop_reason"] = strs(body["stop"])[0]
	}
	if s.dialect == SGLang && finish == lm.FinishStop {
		choice["matched_stop"] = strs(body["stop"])[0]
	}
	if chat {
		delete(choice, "text")
		choice["message"] = object{"role": "assistant", "content": text}
	}
	if body["stream"] != true {
		return object{"choices": []any{choice}, "usage": usage}
	}
	var list []any
	for _, word := range strings.SplitAfter(text, " ") {
		piece := object{"index": 0, "text": word, "finish_reason": nil}
		if chat {
			piece = object{"index": 0, "delta": object{"content": word}, "finish_reason": nil}
		}
		list = append(list, object{"choices": []any{piece}})
	}
	choice["text"] = ""
	list = append(list, object{"choices": []any{choice}}, object{"choices": []any{}, "usage": usage})
	return events(w, list...)
}

func (s *toy) openai(w http.ResponseWriter, path string, body object) any {
	path = path[strings.LastIndex(path, "/openai")+1:]
	switch {
	case strings.HasSuffix(path, "/models"):
		return s.modelList("openai")
	case strings.HasSuffix(path, "/chat/completions"):
		return s.openaiWrite(w, body, true)
	case strings.HasSuffix(path, "/completions"):
		return s.openaiWrite(w, body, false)
	case strings.HasSuffix(path, "/embeddings"):
		var data []any
		for i, text := range strs(body["input"]) {
			data = append(data, object{"index": i, "embedding": []float64{float64(len(text)), 1, 2}})
		}
		slices.Reverse(data) // the numbers say which is which
		return object{"data": data}
	}
	return refuse(w, 404, "not_found_error", "")
}

func (s *toy) vllm(w http.ResponseWriter, path string, body object) any {
	switch path {
	case "/version":
		return object{"version": "0.32.0"}
	case "/v1/models":
		return s.modelList("vllm")
	case "/metrics":
		if s.hidden {
			return refuse(w, 404, "Not Found", "")
		}
		ended := s.ended.Load()
		if s.stranger != nil {
			ended += s.stranger()
		}
		fmt.Fprintf(w, "# HELP vllm:num_requests_running Number of requests.\nvllm:num_requests_running{engine=\"0\",model_name=\"a} b\"} %d.0\nvllm:num_requests_waiting{engine=\"0\"} 0.0\n", s.beside.Load())
		fmt.Fprintf(w, "process_start_time_seconds %v\n", s.began)
		fmt.Fprintf(w, "vllm:request_success_total{engine=\"0\",finished_reason=\"stop\"} 1.0\nvllm:request_success_total{engine=\"0\",finished_reason=\"length\"} %d\n", ended)
		return nil
	case "/tokenizer_info":
		if !s.info {
			return refuse(w, 404, "Not Found", "")
		}
		return object{"eos_token": "<|im_end|>", "added_tokens_decoder": object{"256": toyMarks[0], "257": toyMarks[1], "258": toyMarks[2]}}
	case "/tokenize":
		text, _ := body["prompt"].(string)
		if body["messages"] != nil {
			text = s.render(body["messages"])
		}
		return object{"tokens": s.special(s.encode(text, true), body["add_special_tokens"]), "max_model_len": toyLimit + 1}
	case "/detokenize":
		return object{"prompt": s.decode(tokens(body["tokens"]), true)}
	case "/v1/chat/completions":
		return s.openaiWrite(w, body, true)
	case "/v1/completions":
		if _, ok := body["logprobs"]; !ok {
			return s.openaiWrite(w, body, false)
		}
		return s.vllmScores(w, body)
	}
	return refuse(w, 404, "Not Found", "")
}

func (s *toy) vllmScores(w http.ResponseWriter, body object) any {
	ids := tokens(body["logprob_token_ids"])
	count := number(body["logprobs"])
	if len(ids) > vllmIDs || slices.ContainsFunc(ids, func(t lm.Token) bool { return t >= toySize }) {
		return refuse(w, 400, "BadRequestError", "logprob_token_ids")
	}
	if count > s.top {
		return refuse(w, 400, "BadRequestError", "logprobs")
	}
	var choices []any
	var read, cached int
	defer s.work(lists(body["prompt"]))()
	for i, prompt := range lists(body["prompt"]) {
		cached += s.cached(prompt, body["cache_salt"])
		logs := s.logProbs(prompt)
		first := best(logs, 1)[0]
		ask := append([]lm.Token{first}, ids...)
		if len(ids) == 0 {
			ask = best(logs, count)
		}
		top := object{}
		for _, t := range ask {
			top[fmt.Sprintf("token_id:%d", t)] = logs[t]
		}
		choices = append(choices, object{"index": i, "text": "x", "logprobs": object{"top_logprobs": []any{top}}})
		read += len(prompt)
	}
	slices.Reverse(choices) // the numbers say which is which
	return object{"choices": choices, "usage": object{"prompt_tokens": read, "completion_tokens": len(choices), "prompt_tokens_details": object{"cached_tokens": cached}}}
}

func (s *toy) llamacpp(w http.ResponseWriter, path string, body object) any {
	switch path {
	case "/props":
		return object{"default_generation_settings": object{"n_ctx": toyLimit + 1}, "total_slots": s.slots, "build_info": "b1", "chat_template": "…", "eos_token": "<|im_end|>"}
	case "/v1/models":
		return s.modelList("llamacpp")
	case "/metrics":
		if s.hidden {
			return refuse(w, 501, "not_supported_error", "")
		}
		ended := s.tokens.Load()
		if s.stranger != nil {
			ended += s.stranger()
		}
		fmt.Fprintf(w, "llamacpp:prompt_tokens_total %d\nllamacpp:tokens_predicted_total 0\nllamacpp:prompt_tokens_cached_total 0\nllamacpp:requests_processing %d\nllamacpp:requests_deferred 0\n", ended, s.beside.Load())
		return nil
	case "/slots":
		if s.hidden {
			return refuse(w, 501, "not_supported_error", "")
		}
		var slots []any
		for i := range s.slots {
			slot := object{"id": i, "is_processing": i == 0 && s.beside.Load() > 0, "id_task": s.ended.Load()}
			if i > 0 {
				delete(slot, "id_task")
				if s.stranger != nil {
					slot["id_task"] = s.stranger()
				}
			}
			slots = append(slots, slot)
		}
		return slots
	case "/tokenize":
		return object{"tokens": s.special(s.encode(body["content"].(string), body["parse_special"] == true), body["add_special"])}
	case "/detokenize":
		return object{"content": s.decode(tokens(body["tokens"]), true)}
	case "/apply-template":
		return object{"prompt": s.render(body["messages"])}
	case "/v1/chat/completions":
		return s.openaiWrite(w, body, true)
	case "/completion":
		if body["stream"] == true {
			return s.llamaWrite(w, body)
		}
		return s.llamaScores(body)
	}
	return refuse(w, 404, "not_found_error", "")
}

func (s *toy) llamaScores(body object) any {
	s.mu.Lock()
	edited := s.spoil != nil
	s.mu.Unlock()
	var answers []any
	defer s.work(lists(body["prompt"]))()
	for i, prompt := range lists(body["prompt"]) {
		logs := s.logProbs(prompt)
		cached := len(prompt) / 2
		if body["cache_prompt"] == false && !s.forgets {
			cached = 0
		}
		s.tokens.Add(int64(len(prompt) + 1))
		var top any
		if ids := best(logs, number(body["n_probs"])); edited {
			top = llamaEntries(logs, ids)
		} else {
			top = llamaText(logs, ids)
		}
		answers = append(answers, object{
			"index": i, "tokens_evaluated": len(prompt), "tokens_predicted": 1, "timings/cache_n": cached,
			"completion_probabilities": []any{object{"id": 1, "logprob": -1, "top_logprobs": top}},
		})
	}
	if len(answers) == 1 {
		return answers[0]
	}
	return answers
}

func llamaEntries(logs []float64, ids []lm.Token) []any {
	var top []any
	for _, t := range ids {
		bytes := []int{}
		if t < toyBytes {
			bytes = []int{int(t)}
		}
		top = append(top, object{"id": t, "token": "", "bytes": bytes, "logprob": logs[t]})
	}
	return top
}

// llamaText returns the same in less time, for tests that ask often.
func llamaText(logs []float64, ids []lm.Token) json.RawMessage {
	text := []byte{'['}
	for i, t := range ids {
		if i > 0 {
			text = append(text, ',')
		}
		text = fmt.Appendf(text, `{"id":%d,"token":"","bytes":[`, t)
		if t < toyBytes {
			text = fmt.Append(text, int(t))
		}
		text = fmt.Appendf(text, `],"logprob":%v}`, logs[t])
	}
	return append(text, ']')
}

func (s *toy) llamaWrite(w http.ResponseWriter, body object) any {
	var prompt []lm.Token
	if p, ok := body["prompt"].(string); ok {
		prompt = s.encode(p, true)
	} else {
		prompt = tokens(body["prompt"])
	}
	defer s.work([][]lm.Token{prompt})()
	text, n, finish := s.write(prompt, number(body["n_predict"]), strs(body["stop"]))
	s.tokens.Add(int64(len(prompt) + n))
	cached := 0
	if s.forgets {
		cached = s.cached(prompt, "")
	}
	var list []any
	for _, word := range strings.SplitAfter(text, " ") {
		list = append(list, object{"index": 0, "content": word, "stop": false})
	}
	list = append(list, object{
		"content": "", "stop": true, "tokens_predicted": n, "tokens_evaluated": len(prompt), "timings": object{"cache_n": cached},
		"stop_type": map[lm.Finish]string{lm.FinishEnd: "eos", lm.FinishStop: "word", lm.FinishLength: "limit"}[finish],
	})
	return events(w, list...)
}

func (s *toy) sglang(w http.ResponseWriter, path string, body object) any {
	switch path {
	case "/model_info":
		return object{"model_path": "/models/toy", "weight_version": "default", "is_generation": true}
	case "/server_info":
		return object{"version": "0.5.6", "max_total_num_tokens": 1000}
	case "/v1/models":
		return s.modelList("sglang")
	case "/tokenize":
		text, _ := body["prompt"].(string)
		if body["messages"] != nil {
			text = s.render(body["messages"])
		}
		return object{"tokens": s.special(s.encode(text, true), body["add_special_tokens"]), "count": 1, "max_model_len": toyLimit + 1}
	case "/detokenize":
		all := lists(body["tokens"])
		var texts []string
		for _, list := range all {
			texts = append(texts, s.decode(list, body["skip_special_tokens"] == false))
		}
		if items, ok := body["tokens"].([]any); ok && len(items) > 0 {
			if _, flat := items[0].(float64); flat {
				return object{"text": texts[0]}
			}
		}
		return object{"text": texts}
	case "/v1/completions", "/v1/chat/completions":
		return s.openaiWrite(w, body, path == "/v1/chat/completions")
	case "/generate":
		return s.sglangScores(w, body)
	}
	return refuse(w, 404, "Not Found", "")
}

func (s *toy) sglangScores(w http.ResponseWriter, body object) any {
	chosen := lists(body["token_ids_logprob"])
	counts, _ := body["top_logprobs_num"].([]any)
	var answers []any
	defer s.work(lists(body["input_ids"]))()
	for i, prompt := range lists(body["input_ids"]) {
		logs := s.logProbs(prompt)
		var salt any
		if salts := strs(body["extra_key"]); salts != nil {
			salt = salts[i]
		}
		meta := object{"prompt_tokens": len(prompt), "cached_tokens": s.cached(prompt, salt), "completion_tokens": 1}
		list := func(of []lm.Token) any {
			var out []any
			for _, t := range of {
				out = append(out, []any{logs[t], t, nil})
			}
			return []any{out}
		}
		if chosen != nil {
			if slices.ContainsFunc(chosen[i], func(t lm.Token) bool { return t >= toySize }) {
				return refuse(w, 400, "invalid_request_error", "")
			}
			meta["output_token_ids_logprobs"] = list(chosen[i])
		} else {
			meta["output_top_logprobs"] = list(best(logs, number(counts[i])))
		}
		answers = append(answers, object{"text": "x", "output_ids": []int{1}, "meta_info": meta})
	}
	return answers
}

func (s *toy) ollama(w http.ResponseWriter, path string, body object) any {
	switch path {
	case "/v1/models":
		return s.modelList("library")
	case "/api/version":
		return object{"version": "0.30.0"}
	case "/api/tags":
		return object{"models": []any{object{"name": "toy:latest", "digest": "abc"}}}
	case "/api/show":
		return object{"model_info": object{"llama.context_length": 8192}, "capabilities": []string{"completion", "embedding"}, "template": "…"}
	case "/api/embed":
		var vectors [][]float64
		for _, text := range strs(body["input"]) {
			vectors = append(vectors, []float64{float64(len(text)), 1})
		}
		return object{"embeddings": vectors}
	case "/api/ps":
		models := []any{}
		if s.company.loaded() {
			models = append(models, object{"name": "toy:latest"})
		}
		return object{"models": models}
	case "/api/generate", "/api/chat":
		if body["keep_alive"] == 0. && body["prompt"] == nil && body["messages"] == nil {
			s.company.unload()
			return object{"done": true, "done_reason": "unload"}
		}
		text, _ := body["prompt"].(string)
		if path == "/api/chat" {
			text = s.render(body["messages"])
		}
		options := body["options"].(object)
		prompt := s.encode(text, true)
		defer s.work([][]lm.Token{prompt})()
		written, n, finish := s.write(prompt, number(options["num_predict"]), strs(options["stop"]))
		lines := json.NewEncoder(w)
		for _, word := range strings.SplitAfter(written, " ") {
			piece := object{"response": word, "done": false}
			if path == "/api/chat" {
				piece = object{"message": object{"role": "assistant", "content": word}, "done": false}
			}
			_ = lines.Encode(piece)
		}
		reason := map[lm.Finish]string{lm.FinishEnd: "stop", lm.FinishStop: "stop", lm.FinishLength: "length"}[finish]
		_ = lines.Encode(object{"done": true, "done_reason": reason, "prompt_eval_count": len(prompt), "eval_count": n})
		return nil
	}
	return refuse(w, 404, "", "")
}
