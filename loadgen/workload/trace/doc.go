// Package trace reads recorded workloads into sessions: conversations of
// ShareGPT, the request traces of Mooncake and of Qwen on Bailian, the Azure LLM
// inference traces, BurstGPT, and plain lines of request bodies.
//
// A row that can not be understood is skipped and reported with its line and
// column; too many of them are an error. Whatever a format does not say is
// either assumed, and then noted in the report, or left out.
//
// Published layouts: https://huggingface.co/datasets/anon8231489123/ShareGPT_Vicuna_unfiltered,
// https://github.com/kvcache-ai/Mooncake (FAST25-release),
// https://github.com/alibaba-edu/qwen-bailian-usagetraces-anon,
// https://github.com/Azure/AzurePublicDataset, https://github.com/HPMLL/BurstGPT.
package trace
