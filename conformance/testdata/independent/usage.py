"""Usage statistics and the information about the vector index."""

import calendar
import datetime
import time

from encode import Map, day_name, timestamp

HOUR = 3600
PERIODS = {"1h": HOUR, "3h": 3 * HOUR, "12h": 12 * HOUR, "1d": 24 * HOUR, "3d": 72 * HOUR, "7d": 168 * HOUR, "30d": 720 * HOUR}


class Statistics:
    def __init__(self, service):
        self.service, self.odd = service, service.odd

    def events(self, what):
        """What was counted, as far as it is readable yet."""
        until = self.service.now() - self.odd.late_statistics
        return [(at, n) for at, n in self.service.counts[what] if at <= until]

    def series(self, what, period):
        """One point for each interval of a period."""
        points = 240 if period == "30d" else 60
        step, now = PERIODS[period] / points, self.service.now()
        sums = [0] * points
        if self.odd.aligned:
            end = (now // step + 1) * step  # a point is at the start of its interval
            first = end - points * step
        else:
            first = now - (points - 1) * step  # a point is at the end of its interval
        for at, n in self.events(what) if what else ():
            index = int((at - first) // step) if self.odd.aligned else int(-(-(at - first) // step))
            if 0 <= index < points:
                sums[index] += n
        out = [{"x": timestamp(first + i * step, self.odd, i), "y": y} for i, y in enumerate(sums)]
        return out[::-1] if self.odd.newest_first else out

    def daily(self, days, build):
        """One object for each day of the month, or up to today."""
        today = datetime.datetime.fromtimestamp(self.service.now(), datetime.timezone.utc).date()
        return [build(i, day) for i, day in enumerate(days) if day <= today or not self.odd.days_so_far]

    def read(self, period):
        now = datetime.datetime.fromtimestamp(self.service.now(), datetime.timezone.utc)
        length = calendar.monthrange(now.year, now.month)[1]
        days = [datetime.date(now.year, now.month, d + 1) for d in range(length)]
        sums = {what: [0] * length for what in self.service.counts}
        for what in sums:
            for at, n in self.events(what):
                date = datetime.datetime.fromtimestamp(at, datetime.timezone.utc)
                if (date.year, date.month) == (now.year, now.month):
                    sums[what][date.day - 1] += n

        def x(i, day):
            start = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.timezone.utc)
            return timestamp(start.timestamp(), self.odd, i)

        def points(value):
            return self.daily(days, lambda i, day: {"x": x(i, day), "y": value(i)})

        def metrics(known, what):
            out = [{"id": known, "data_points": self.series(what, period)}]
            if self.odd.more_metrics:
                out.insert(0, {"id": "a.new-metric", "data_points": self.series(None, period)})
                out.append({"id": "", "data_points": []})
            return out

        price = 0.00001
        return {
            "days": [day_name(day, self.odd) for day in days],
            "daily_requests": self.daily(days, lambda i, day: {
                "x": x(i, day), "y": sums["requests"][i],
                "workflow_message": sums["workflow_message"][i], "workflow_run": sums["workflow_run"][i],
            }),
            "daily_billings": points(lambda i: round(sums["requests"][i] * price, 5)),
            "daily_bandwidths": points(lambda i: sums["bytes"][i]),
            "daily_used": self.series("requests", period),
            "daily_used_workflow": self.series("workflow_run", period),
            "daily_svc_messages": metrics("delivered", "delivered"),
            "daily_workflow_messages": metrics("canceled", "canceled"),
            "dlq_message_count": len(self.service.dlq),
            "daily_bandwidth_used": self.series("bytes", period),
            "total_monthly_billing": round(sum(sums["requests"]) * price, 5),
        }


class VectorIndex:
    """One vector index, whose information is updated some time after each change."""

    def __init__(self, odd):
        self.odd, self.changes = odd, [(0.0, "", 0)]

    def add(self, namespace, vectors):
        """Adds vectors to a namespace."""
        self.changes.append((time.monotonic() + self.odd.late_vector, namespace, vectors))

    def read(self):
        counts = {}
        for at, namespace, vectors in self.changes:
            if at <= time.monotonic():
                counts[namespace] = (counts.get(namespace, (0, 0))[0] + vectors, 0)
        if self.odd.more_namespaces:
            counts.setdefault("ns é/1", (0, 0))
        dense = {"dimension": 8, "similarityFunction": "COSINE", "embeddingModel": "none"}
        kind = self.odd.vector_type or "DENSE"
        out = {
            "vectorCount": sum(v for v, _ in counts.values()), "pendingVectorCount": sum(p for _, p in counts.values()),
            "indexSize": 64 * sum(v for v, _ in counts.values()), "dimension": 0 if kind == "SPARSE" else 8,
            "similarityFunction": "" if kind == "SPARSE" else "COSINE", "indexType": kind,
        }
        if kind != "SPARSE":
            out["denseIndex"] = dense
        if kind != "DENSE":
            out["sparseIndex"] = {"embeddingModel": "BM25"}
        out["namespaces"] = Map({n: {"vectorCount": v, "pendingVectorCount": p} for n, (v, p) in counts.items()})
        return {"result": out}
