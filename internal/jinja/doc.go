// Package jinja runs the chat templates that models ship with: the part of Jinja
// (jinja.palletsprojects.com, 3.1) that they use, in the environment that the Python
// package transformers gives them: trim_blocks, lstrip_blocks, loop controls, a
// sandbox in which nothing can be changed, tojson without escapes for HTML.
//
// Two things set it apart from the libraries that there are, and are why it exists.
// Every string knows which of its bytes the template wrote and which came from
// outside (Text), through every filter and method, so that a client cannot forge the
// borders of a message. And a template cannot take the process with it: steps, bytes
// made and depth are bounded, in loops, recursive macros and nested expressions
// alike.
//
// Inside the package a failure is a panic of type failure, as in text/template;
// Parse and Render return it as an error.
package jinja
