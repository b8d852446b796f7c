// Package gpu is what the machine's NVIDIA GPUs say of themselves through NVML:
// which there are, and what they do at a moment.
package gpu
