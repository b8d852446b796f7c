package tui

import "charm.land/lipgloss/v2"

// The eight colours of the terminal's own theme read well on light and on dark.
var (
	titleStyle = lipgloss.NewStyle().Bold(true)
	faintStyle = lipgloss.NewStyle().Faint(true)
	chartStyle = lipgloss.NewStyle().Foreground(lipgloss.Color("6"))
	doneStyle  = lipgloss.NewStyle().Foreground(lipgloss.Color("4"))
	goodStyle  = lipgloss.NewStyle().Foreground(lipgloss.Color("2"))
	badStyle   = lipgloss.NewStyle().Foreground(lipgloss.Color("1"))
	warnStyle  = lipgloss.NewStyle().Foreground(lipgloss.Color("3"))
)
