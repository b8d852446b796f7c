// Package handover writes a plan as what the people who run it need: the
// engine's start-up command, an autoscaler's thresholds, and alert rules. All
// numbers come from the plan; nothing is looked up on a network.
package handover
