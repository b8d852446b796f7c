package workload_test

import (
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
)

var goldenSessions = []workload.Session{
	{Index: 0, Offset: 4203606, Tenant: "tenant-3", Class: "interactive", Turns: []workload.Turn{{Group: 1, Prefix: 750, Input: 2272, Output: 209}}},
	{Index: 1, Offset: 8892361, Tenant: "tenant-5", Class: "batch", Turns: []workload.Turn{{Group: 7, Prefix: 750, Input: 1979, Output: 288}}},
	{Index: 100000, Offset: 8*time.Minute + 19106147369, Tenant: "tenant-1", Class: "interactive",
		Turns: []workload.Turn{{Group: 7, Prefix: 750, Input: 1392, Output: 331}}},
}

var goldenAgent = workload.Session{
	Index: 3, Offset: 41044358, Tenant: "tenant-1", Class: "interactive", Model: "small", Turns: []workload.Turn{
		{Group: 1, Prefix: 336, Input: 337, Output: 252, Tools: true},
		{Group: workload.NoGroup, Input: 1144, Output: 379, Think: 12049836381},
		{Group: workload.NoGroup, Input: 699, Output: 171, Think: 14873902638, Tools: true},
		{Group: workload.NoGroup, Input: 1, Output: 137, Think: 2140389229},
	},
}
