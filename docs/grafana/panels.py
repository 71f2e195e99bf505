"""What the dashboards are made of, as Grafana reads it."""

import textwrap

SOURCE = {"type": "postgres", "uid": "${database}"}


def sql(query):
    return textwrap.dedent(query).strip()


class Variable:
    def __init__(self, name, label, query, several=False):
        self.name, self.label, self.query, self.several = name, label, sql(query), several

    def json(self):
        # refresh 2: with every change of the time range; runs come and go
        return {"name": self.name, "label": self.label, "type": "query", "datasource": SOURCE, "query": self.query, "definition": self.query,
                "refresh": 2, "sort": 0, "multi": self.several, "includeAll": self.several, "hide": 0, "regex": "", "options": [],
                "current": {"selected": True, "text": ["All"], "value": ["$__all"]} if self.several else {}}


class Panel:
    kind = None
    form = "table"

    def __init__(self, title, query, nothing, at, unit="none", about=""):
        self.title, self.query, self.nothing, self.at, self.unit, self.about = title, sql(query), nothing, at, unit, about

    def defaults(self):
        return {"unit": self.unit, "noValue": self.nothing}

    def overrides(self):
        return []

    def options(self):
        return {}

    def json(self, number):
        x, y, width, height = self.at
        return {"id": number, "type": self.kind, "title": self.title, "description": self.about, "datasource": SOURCE,
                "gridPos": {"x": x, "y": y, "w": width, "h": height},
                "fieldConfig": {"defaults": self.defaults(), "overrides": self.overrides()}, "options": self.options(),
                "targets": [{"refId": "A", "datasource": SOURCE, "editorMode": "code", "rawQuery": True, "format": self.form, "rawSql": self.query}]}


class TimeSeries(Panel):
    kind = "timeseries"
    form = "time_series"

    def __init__(self, title, query, nothing, at, unit="none", about="", axis="", log=False, steps=False, stacked=False, points=False):
        super().__init__(title, query, nothing, at, unit, about)
        self.axis, self.log, self.steps, self.stacked, self.points = axis, log, steps, stacked, points

    def defaults(self):
        return dict(super().defaults(), custom={
            "axisLabel": self.axis, "drawStyle": "line", "lineInterpolation": "stepAfter" if self.steps else "linear", "lineWidth": 1,
            "fillOpacity": 30 if self.stacked else 0, "showPoints": "always" if self.points else "auto", "spanNulls": False,
            "scaleDistribution": {"type": "log", "log": 10} if self.log else {"type": "linear"},
            "stacking": {"mode": "normal" if self.stacked else "none", "group": "A"}})

    def options(self):
        return {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True}, "tooltip": {"mode": "multi", "sort": "none"}}

    def json(self, number):
        # the timeline has seconds
        return dict(super().json(number), interval="1s")


class Bars(Panel):
    kind = "barchart"

    def __init__(self, title, query, nothing, at, unit="none", about="", log=False):
        super().__init__(title, query, nothing, at, unit, about)
        self.log = log

    def defaults(self):
        return dict(super().defaults(), custom={"lineWidth": 1, "fillOpacity": 80, "scaleDistribution":
                                                {"type": "log", "log": 10} if self.log else {"type": "linear"}})

    def options(self):
        return {"orientation": "auto", "showValue": "auto", "stacking": "none", "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                "tooltip": {"mode": "multi", "sort": "none"}}


class Stat(Panel):
    kind = "stat"

    def options(self):
        # fields of any type: phases are texts
        return {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "/.*/", "values": False}, "colorMode": "none", "graphMode": "none",
                "justifyMode": "auto", "orientation": "auto", "textMode": "value"}


class Table(Panel):
    kind = "table"

    def __init__(self, title, query, nothing, at, about="", units=None, bars=(), links=None, hidden=(), every="none"):
        super().__init__(title, query, nothing, at, every, about)
        self.units, self.bars, self.links, self.hidden = units or {}, bars, links or {}, hidden

    def overrides(self):
        def override(column, name, value):
            return {"matcher": {"id": "byName", "options": column}, "properties": [{"id": name, "value": value}]}
        found = [override(column, "unit", unit) for column, unit in self.units.items()]
        found += [override(column, "custom.cellOptions", {"type": "gauge", "mode": "basic"}) for column in self.bars]
        found += [override(column, "links", [{"title": "Show this run", "url": url}]) for column, url in self.links.items()]
        found += [override(column, "custom.hidden", True) for column in self.hidden]
        if self.unit != "none":
            found += [override(column, "unit", "none") for column in ("clients",)]
        return found

    def options(self):
        return {"showHeader": True, "cellHeight": "sm"}


class Dashboard:
    def __init__(self, name, title, variables, checkpoints, panels, range_from, refresh=""):
        self.name, self.title, self.variables, self.panels = name, title, variables, panels
        self.checkpoints, self.range_from, self.refresh = checkpoints and sql(checkpoints), range_from, refresh

    def annotations(self):
        if not self.checkpoints:
            return []
        return [{"name": "Checkpoints", "datasource": SOURCE, "enable": True, "hide": False, "iconColor": "rgba(255, 152, 48, 1)", "type": "dashboard",
                 "rawQuery": self.checkpoints, "target": {"refId": "checkpoints", "editorMode": "code", "format": "table", "rawQuery": True,
                                                          "rawSql": self.checkpoints}}]

    def json(self):
        kinds = sorted({panel.kind for panel in self.panels})
        database = {"name": "database", "label": "Database", "type": "datasource", "query": "postgres", "refresh": 1, "regex": "", "hide": 0, "multi": False,
                    "includeAll": False, "options": [], "current": {"selected": True, "text": "${DS_NOISYNEIGHBOR}", "value": "${DS_NOISYNEIGHBOR}"}}
        return {"__inputs": [{"name": "DS_NOISYNEIGHBOR", "label": "Database with pg_noisyneighbor", "type": "datasource", "pluginId": "postgres",
                              "pluginName": "PostgreSQL",
                              "description": "A PostgreSQL data source whose user is a member of pg_monitor and finds the extension in its search_path"}],
                "__requires": [{"type": "grafana", "id": "grafana", "name": "Grafana", "version": "9.5.0"},
                               {"type": "datasource", "id": "postgres", "name": "PostgreSQL", "version": "1.0.0"}]
                + [{"type": "panel", "id": kind, "name": kind, "version": ""} for kind in kinds],
                "id": None, "uid": "noisyneighbor-" + self.name, "title": self.title, "tags": ["pg_noisyneighbor", "postgresql"],
                "timezone": "browser", "schemaVersion": 38, "version": 1, "editable": True, "graphTooltip": 1, "refresh": self.refresh,
                "time": {"from": self.range_from, "to": "now"},
                "links": [{"title": "pg_noisyneighbor", "type": "dashboards", "tags": ["pg_noisyneighbor"], "asDropdown": True, "includeVars": True,
                           "keepTime": True, "icon": "external link", "targetBlank": False, "tooltip": "", "url": ""}],
                "annotations": {"list": self.annotations()},
                "templating": {"list": [database] + [variable.json() for variable in self.variables]},
                "panels": [panel.json(number) for number, panel in enumerate(self.panels, 1)]}
