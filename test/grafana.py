#!/usr/bin/env python3
"""What Grafana makes of the queries in docs/grafana, for the test and for bench/dashboards.

    test/grafana.py FROM TO INTERVAL VARIABLES      prints a list, as JSON: what each dashboard asks for, expanded

FROM and TO are seconds since 1970, INTERVAL is text such as 1s, VARIABLES a JSON object: name to a list of values.  Macros and formats are
those of Grafana's PostgreSQL data source; one that is not known here is an error.
"""

import datetime
import glob
import json
import os
import re
import sys

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "grafana")


def moment(seconds):
    stamp = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return "'" + stamp.strftime("%Y-%m-%dT%H:%M:%S.") + f"{stamp.microsecond // 1000:03d}Z'"


def quoted(values):
    return ",".join("'" + value.replace("'", "''") + "'" for value in values) or "''"


def expand(query, since, until, interval, variables):
    def variable(match):
        if match[1] not in variables or match[2] != "sqlstring":
            raise ValueError(f"{match[0]} in {query}")
        return quoted(variables[match[1]])
    query = re.sub(r"\$\{(\w+):?(\w*)\}", variable, query)
    query = re.sub(r"\$__timeFilter\(([\w.\"]+)\)", lambda m: f"{m[1]} BETWEEN {moment(since)} AND {moment(until)}", query)
    query = query.replace("$__timeFrom()", moment(since)).replace("$__timeTo()", moment(until)).replace("$__interval", interval)
    if re.search(r"\$[_{a-zA-Z]", query):
        raise ValueError("unknown macro in " + query)
    return query


def dashboards():
    for path in sorted(glob.glob(os.path.join(FOLDER, "*.json"))):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path)[:-5], json.load(file)


def queries(since, until, interval, variables):
    """What each dashboard asks for: variables, annotations, panels."""
    found = []

    def add(dashboard, what, title, query, **more):
        found.append(dict(more, dashboard=dashboard, what=what, title=title, sql=expand(query, since, until, interval, variables),
                          timed="$__time" in query, chosen=sorted(set(re.findall(r"\$\{(\w+)", query)))))

    for name, board in dashboards():
        for entry in board["templating"]["list"]:
            if entry["type"] == "query":
                add(name, "variable", entry["name"], entry["query"])
        for entry in board["annotations"]["list"]:
            add(name, "annotation", entry["name"], entry["target"]["rawSql"])
        for panel in board["panels"]:
            for target in panel["targets"]:
                add(name, target["format"], panel["title"], target["rawSql"], empty=panel["fieldConfig"]["defaults"].get("noValue", ""),
                    kind=panel["type"])
    return found


if __name__ == "__main__":
    json.dump(queries(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])), sys.stdout)
