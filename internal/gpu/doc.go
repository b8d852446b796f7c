// Package gpu is what the machine's NVIDIA GPUs say of themselves through NVML.
package gpu
