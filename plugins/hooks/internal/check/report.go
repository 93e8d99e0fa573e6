package check

// The values of the key format. Each format but auto has a file of its own.
const (
	formatAuto   = "auto"
	formatCargo  = "cargo"
	formatGo     = "go"
	formatJUnit  = "junit"
	formatNode   = "node"
	formatPytest = "pytest"
	formatTAP    = "tap"

	formatUnittest = "unittest"
)

// formats are the formats with their constructors, and a test for the first line of a report.
var formats = []struct {
	name   string
	new    func() report
	begins func(line []byte) bool
}{
	{formatCargo, func() report { return &cargo{} }, beginsCargo},
	{formatGo, func() report { return &goTest{} }, beginsGoTest},
	{formatJUnit, func() report { return &junit{} }, beginsJUnit},
	{formatNode, func() report { return &nodeTest{} }, beginsNode},
	{formatPytest, func() report { return &pytest{} }, beginsPytest},
	{formatTAP, func() report { return &tap{} }, beginsTAP},
	{formatUnittest, func() report { return &unittest{} }, beginsUnittest},
}

// formatNames returns the values of the key format.
func formatNames() []string {
	names := []string{formatAuto}
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

func newReport(format string) report {
	for _, f := range formats {
		if f.name == format {
			return f.new()
		}
	}
	return &autoReport{}
}

// autoReport detects the format by the first line that identifies it, and reads from this line on in that format.
type autoReport struct{ report report }

func (a *autoReport) readLine(line []byte) []byte {
	if a.report == nil {
		for _, f := range formats {
			if f.begins(line) {
				a.report = f.new()
				break
			}
		}
	}
	if a.report == nil {
		return line
	}
	return a.report.readLine(line)
}

func (a *autoReport) results() (results, error) {
	if a.report == nil {
		return results{}, nil
	}
	return a.report.results()
}

// reportBegan reports whether the command printed a report, even a report without tests.
func reportBegan(r report) bool {
	switch r := r.(type) {
	case *autoReport:
		return r.report != nil
	case *goTest:
		return r.began
	default:
		return true // the configuration names the format
	}
}
