package collector

import (
	"strings"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// Sums returns the sums of the received metrics by name, over all points and processes. "name attribute=value" is the
// sum of the points with this attribute. The sum of a histogram is the number of its values.
func (c *Collector) Sums() map[string]float64 {
	last := map[string]*metrics.ResourceMetrics{} // each process sends cumulative sums
	for _, sent := range c.Metrics() {
		for _, a := range sent.GetResource().GetAttributes() {
			if a.GetKey() == "service.instance.id" {
				last[value(a.GetValue())] = sent
			}
		}
	}
	sums := map[string]float64{}
	for _, sent := range last {
		for _, scope := range sent.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				add(sums, m)
			}
		}
	}
	return sums
}

func add(sums map[string]float64, m *metrics.Metric) {
	count := func(by float64, attributes []*common.KeyValue) {
		sums[m.GetName()] += by
		for _, a := range attributes {
			sums[strings.Join([]string{m.GetName(), a.GetKey() + "=" + value(a.GetValue())}, " ")] += by
		}
	}
	for _, p := range m.GetSum().GetDataPoints() {
		count(p.GetAsDouble()+float64(p.GetAsInt()), p.GetAttributes())
	}
	for _, p := range m.GetHistogram().GetDataPoints() {
		count(float64(p.GetCount()), p.GetAttributes())
	}
}
