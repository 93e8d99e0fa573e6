package stubmodel

func (responses) stream(a answer) []frame {
	var frames []frame
	add := func(kind string, fields map[string]any) {
		frames = append(frames, responsesEvent(kind, len(frames), fields))
	}
	begun := responsesObject(a, "in_progress", []any{})
	add("response.created", map[string]any{"response": begun})
	add("response.in_progress", map[string]any{"response": begun})
	var output []any
	for i, item := range a.responsesItems() {
		add("response.output_item.added", map[string]any{"output_index": i, "item": item.begun})
		for _, step := range item.steps {
			step.fields["output_index"], step.fields["item_id"] = i, item.id
			add(step.kind, step.fields)
		}
		add("response.output_item.done", map[string]any{"output_index": i, "item": item.done})
		output = append(output, item.done)
	}
	add("response.completed", map[string]any{"response": a.responsesEnd(output)})
	return frames
}

// responsesEnd returns the completed response with its usage.
func (a answer) responsesEnd(output []any) map[string]any {
	if output == nil {
		output = []any{}
	}
	end := responsesObject(a, "completed", output)
	usage := a.turn.Usage
	end["usage"] = map[string]any{
		"input_tokens": usage.allInput(),
		"input_tokens_details": map[string]any{
			"cached_tokens": usage.CacheRead, "cache_write_tokens": usage.CacheWrite,
		},
		"output_tokens":         usage.Output,
		"output_tokens_details": map[string]any{"reasoning_tokens": usage.Reasoning},
		"total_tokens":          usage.allInput() + usage.Output,
	}
	return end
}
