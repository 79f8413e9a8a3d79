"""Decoding as a serving engine does it: a captured attention whose lengths on the host change at each step.

The KV cache is paged, and sequences of different lengths grow into new pages. Run by test_serving.py.
"""

import torch
import torch_npu

from opkit.cann import device

HEADS, KV_HEADS, SIZE, PAGE, PAGES, STEPS = 4, 2, 16, 4, 12, 6
START = [2, 5, 3]
BATCH = len(START)
torch.manual_seed(0)
TABLE = torch.randperm(PAGES).reshape(BATCH, 4).to(torch.int32)


class Decoding:
    """The state on both sides: what was appended so far, and the paged caches of the device."""

    def __init__(self):
        self.lengths = list(START)
        self.host = [torch.randn(2, length, KV_HEADS, SIZE) for length in START]
        self.caches = [torch.zeros(PAGES, PAGE, KV_HEADS * SIZE).npu() for _ in range(2)]
        self.table = TABLE.npu()
        self.query = torch.zeros(BATCH, 1, HEADS * SIZE).npu()
        for batch, length in enumerate(START):
            for position in range(length):
                self.put(batch, position)

    def put(self, batch, position):
        page, row = int(TABLE[batch, position // PAGE]), position % PAGE
        for cache, values in zip(self.caches, self.host[batch]):
            cache[page, row].copy_(values[position].flatten())

    def append(self):
        """Another token for each sequence; gives the query of this step."""
        for batch in range(BATCH):
            self.host[batch] = torch.cat([self.host[batch], torch.randn(2, 1, KV_HEADS, SIZE)], 1)
            self.put(batch, self.lengths[batch])
            self.lengths[batch] += 1
        query = torch.randn(BATCH, HEADS, SIZE)
        self.query.copy_(query.reshape(BATCH, 1, -1))
        return query

    def expected(self, query):
        group = HEADS // KV_HEADS
        rows = []
        for one, (keys, values) in zip(query, self.host):
            keys, values = (x.transpose(0, 1).repeat_interleave(group, 0) for x in (keys, values))
            rows.append(torch.nn.functional.scaled_dot_product_attention(one[:, None], keys, values))
        return torch.stack(rows).reshape(BATCH, 1, -1)

    def options(self, lengths=None):
        return {
            "block_table": self.table, "actual_seq_lengths_kv": lengths or self.lengths, "num_heads": HEADS,
            "num_key_value_heads": KV_HEADS, "input_layout": "BSH", "scale": SIZE**-0.5, "block_size": PAGE,
        }  # fmt: skip

    def attend(self, lengths=None):
        operator = torch_npu.npu_fused_infer_attention_score
        return operator(self.query, *self.caches, **self.options(lengths))[0]


def check_ge():  # torchair comes first: it cannot start after npugraph_ex in one process
    import torchair

    torch._dynamo.reset()
    run = Decoding()
    step = torch.compile(
        lambda query, keys, values, table, lengths: torch_npu.npu_fused_infer_attention_score(
            query, keys, values, **{**run.options(lengths), "block_table": table}
        )[0],
        backend=torchair.get_npu_backend(), fullgraph=True, dynamic=True,
    )  # fmt: skip
    for _ in range(3):
        query = run.append()
        found = step(run.query, *run.caches, run.table, list(run.lengths))
        torch.testing.assert_close(found.cpu(), run.expected(query), rtol=1e-4, atol=1e-5)


def check_groups_of_tasks():
    """The way of vllm-ascend: begin and end a group in the capture, and launch anew into it at each step."""
    run = Decoding()
    out, lse = torch.zeros_like(run.query), torch.zeros(1).npu()
    operator = torch_npu.npu_fused_infer_attention_score
    workspace = torch_npu._npu_fused_infer_attention_score_get_max_workspace(
        run.query, *run.caches, **run.options()
    )

    def attend():
        operator.out(run.query, *run.caches, **run.options(), workspace=workspace, out=[out, lse])

    graph, update = torch.npu.NPUGraph(), torch.npu.Stream()
    gate = torch.npu.ExternalEvent()
    with torch.npu.graph(graph):
        stream = torch.npu.current_stream()
        gate.wait(stream)
        gate.reset(stream)
        torch.npu.graph_task_group_begin(stream)
        attend()
        handle = torch.npu.graph_task_group_end(stream)
        twice = out * 2
    device.journal()
    for _ in range(STEPS):
        query = run.append()
        graph.replay()
        with torch.npu.stream(update):
            torch.npu.graph_task_update_begin(update, handle)
            attend()
            torch.npu.graph_task_update_end(update)
            gate.record(update)
        torch.testing.assert_close(twice.cpu(), run.expected(query) * 2, rtol=1e-4, atol=1e-5)
    events = device.journal()
    assert sum(event.event == "replay" for event in events) == STEPS
    assert not [event for event in events if event.event == "refuse"]


def check_graph_that_updates_its_operators():
    """The short form: torch_npu keeps the groups, and `update` gives it the new lengths."""
    run = Decoding()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, auto_dispatch_capture=True):
        twice = run.attend() * 2
    for _ in range(STEPS):
        query = run.append()
        graph.replay()
        graph.update(cpu_update_input=[{"actual_seq_lengths_kv": run.lengths}])
        torch.testing.assert_close(twice.cpu(), run.expected(query) * 2, rtol=1e-4, atol=1e-5)


def check_npugraph_ex():
    """The lengths are arguments of the compiled function: one capture serves all of them."""
    run = Decoding()
    step = torch.compile(lambda lengths: run.attend(lengths) * 2, backend="npugraph_ex", dynamic=True)
    captures = []
    for _ in range(STEPS):
        query = run.append()
        device.journal()
        found = step(list(run.lengths)).cpu()
        captures.append(any(event.event == "capture_begin" for event in device.journal()))
        torch.testing.assert_close(found, run.expected(query) * 2, rtol=1e-4, atol=1e-5)
    assert captures == [True] + [False] * (STEPS - 1), captures
