package jinja

// An expr is a part of a template that has a value.
type expr interface {
	eval(in *interp, sc *scope) Value
}

// A stmt is a part of a template that is run.
type stmt interface {
	exec(in *interp, sc *scope) signal
}

// signal says how a statement ended.
type signal int

const (
	goOn signal = iota
	breakLoop
	continueLoop
)

type (
	literal  struct{ value Value }
	variable struct {
		name string
		line int
	}
	listExpr struct {
		items []expr
		tuple bool
	}
	dictExpr struct{ keys, values []expr }
	attrExpr struct { // of.name
		of   expr
		name string
		line int
	}
	itemExpr struct { // of[index]
		of, index expr
		line      int
	}
	sliceExpr struct { // of[from:to:step], nil where not given
		of, from, to, step expr
		line               int
	}
	unaryExpr struct {
		op   string
		x    expr
		line int
	}
	binaryExpr struct {
		op   string
		x, y expr
		line int
	}
	logicExpr struct { // and, or
		and  bool
		x, y expr
	}
	compareExpr struct { // first ops[0] rest[0] ops[1] rest[1] …
		first expr
		ops   []string
		rest  []expr
		line  int
	}
	concatExpr struct{ items []expr }
	condExpr   struct{ then, test, other expr } // other may be nil
	callExpr   struct {
		of   expr
		args arguments
		line int
	}
	filterExpr struct {
		x    expr // nil in a filter block
		name string
		args arguments
		line int
	}
	testExpr struct {
		x    expr
		name string
		args arguments
		not  bool
		line int
	}
)

type arguments struct {
	list  []expr
	names []string
	named []expr
}

type (
	dataStmt   struct{ text Text }
	outputStmt struct{ x expr }
	ifStmt     struct {
		tests  []expr
		bodies [][]stmt
		other  []stmt
	}
	forStmt struct {
		targets   []string
		tuple     bool
		in, test  expr // test may be nil
		body      []stmt
		other     []stmt
		recursive bool
		line      int
	}
	jumpStmt struct{ to signal }
	setStmt  struct {
		targets []string
		tuple   bool
		space   string // of a namespace: targets[0] is its attribute
		x       expr
		line    int
	}
	setBlock struct {
		name    string
		body    []stmt
		filters []filterExpr
	}
	macroStmt struct {
		name     string
		params   []string
		defaults []expr // of the last parameters
		body     []stmt
	}
	callStmt struct { // {% call(params) x() %}body{% endcall %}
		call   callExpr
		caller macroStmt
	}
	filterStmt struct {
		filters []filterExpr
		body    []stmt
	}
	withStmt struct {
		names  []string
		values []expr
		body   []stmt
	}
)
