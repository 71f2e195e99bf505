-- Looks of the HTML report, and its script. Neither has "<" or "&", so that a page is well-formed XML too.

CREATE FUNCTION noisy_html_style() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $page$
    SELECT $css$
:root{color-scheme:light dark;--bg:#f6f6f3;--card:#fff;--ink:#1c2228;--soft:#59636d;--line:#dcdfe3;--grid:#e8eaed;
--c1:#0072b2;--c2:#d55e00;--c3:#009e73;--c4:#cc79a7;--c5:#e69f00;--c6:#56b4e9;--c7:#8c7a00;--c8:#6a51a3;--c9:#8b939b;--c10:#7a5c3e;
--l0:#6b7680;--l1:#56b4e9;--l2:#0072b2;--l3:#e69f00;--l4:#d55e00;--l5:#a1124f;
--timed:#56b4e9;--requested:#e69f00;--noise:#b0306a;--hatch:#5a6068}
@media (prefers-color-scheme:dark){:root{--bg:#101418;--card:#181e24;--ink:#e6eaee;--soft:#9ba6b0;--line:#333c45;--grid:#29313a;
--c1:#4ea6e0;--c2:#f0874a;--c3:#34c297;--c4:#e3a0c5;--c5:#f2b84a;--c6:#93cff5;--c7:#d9cc5c;--c8:#a995e0;--c9:#98a1aa;--c10:#c9a27a;
--l0:#a3adb6;--l1:#93cff5;--l2:#4ea6e0;--l3:#f2b84a;--l4:#f0874a;--l5:#ee6aa0;
--timed:#5bb0e6;--requested:#f2b84a;--noise:#e0659c;--hatch:#aab2ba}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1120px;margin:0 auto;padding:24px 20px 48px}
h1{font-size:1.55rem;line-height:1.25;margin:0 0 2px;overflow-wrap:anywhere}
h2{font-size:1.4rem;margin:40px 0 4px;overflow-wrap:anywhere}
h3{font-size:1.1rem;margin:0 0 6px}
p{margin:0 0 10px}
.sub,.why,.note{color:var(--soft);overflow-wrap:anywhere}
.sub{margin:0 0 16px}.note{font-size:.86rem;margin:8px 0 0}
.why{font-style:italic;margin:0}
.verdict{font-size:1.2rem;line-height:1.4;background:var(--card);border:1px solid var(--line);border-left:6px solid var(--c9);border-radius:6px;padding:14px 18px;margin:12px 0}
.verdict strong{display:inline-block;margin-right:.35em}
.verdict.impact{border-left-color:var(--c2)}.verdict.impact strong{color:var(--c2)}
.verdict.improved{border-left-color:var(--c1)}.verdict.improved strong{color:var(--c1)}
.verdict.within{border-left-color:var(--c3)}.verdict.within strong{color:var(--c3)}
nav{display:flex;flex-wrap:wrap;gap:4px 14px;font-size:.88rem;margin:0 0 8px}
a{color:var(--c1)}
section{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:16px 18px;margin:14px 0}
figure{margin:0 0 14px}figure:last-child{margin-bottom:0}
figcaption{font-weight:600;font-size:.95rem}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:14px 24px}
.scroll{overflow-x:auto;max-width:100%}
:focus-visible{outline:2px solid var(--c1);outline-offset:2px}
svg{display:block;width:100%;height:auto;font-size:12px;overflow:hidden}
svg.wide,.scroll>svg{min-width:600px}
svg text{fill:var(--soft);font-family:inherit}
svg text.y{text-anchor:end}svg text.x,svg text.m{text-anchor:middle}svg text.b{fill:var(--ink);text-anchor:middle;font-size:11px}
svg path,svg line{fill:none;stroke-linecap:round;stroke-linejoin:round}
.grid{stroke:var(--grid);stroke-width:1}
.raw{stroke-width:1;opacity:.5}.mean{stroke-width:2}.line{stroke-width:1.7}
.cursor{stroke:var(--ink);stroke-width:1;stroke-dasharray:3 2}
.timed{fill:var(--timed);opacity:.28}.requested{fill:var(--requested);opacity:.3}.unknown{fill:var(--c9);opacity:.25}
.noise{fill:var(--noise)}.nothing{fill:var(--grid)}.hatch{stroke:var(--hatch);stroke-width:1.3}.tint{fill:var(--hatch);opacity:.13}
.strip{stroke:var(--card);stroke-width:.6}
rect.c1,circle.c1{fill:var(--c1)}rect.c2,circle.c2{fill:var(--c2)}rect.c3,circle.c3{fill:var(--c3)}rect.c4{fill:var(--c4)}rect.c5{fill:var(--c5)}
rect.c6{fill:var(--c6)}rect.c7{fill:var(--c7)}rect.c8{fill:var(--c8)}rect.c9{fill:var(--c9)}rect.c10{fill:var(--c10)}
path.c1,line.c1{stroke:var(--c1)}path.c2,line.c2{stroke:var(--c2)}path.c3{stroke:var(--c3)}path.c4{stroke:var(--c4)}path.c5{stroke:var(--c5)}path.c9{stroke:var(--c9)}
path.l0{stroke:var(--l0);stroke-dasharray:5 3}path.l1{stroke:var(--l1)}path.l2{stroke:var(--l2)}path.l3{stroke:var(--l3)}path.l4{stroke:var(--l4)}path.l5{stroke:var(--l5)}
circle.l0{fill:var(--l0)}circle.l1{fill:var(--l1)}circle.l2{fill:var(--l2)}circle.l3{fill:var(--l3)}circle.l4{fill:var(--l4)}circle.l5{fill:var(--l5)}
.dot{opacity:.45}.whisker{stroke-width:1.4}.knee{stroke:var(--c2);stroke-dasharray:6 3;stroke-width:1.5}.kneeband{fill:var(--c2);opacity:.13}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:2px 14px;padding:0;margin:4px 0;font-size:.84rem;color:var(--soft)}
.legend li::before{content:"";display:inline-block;width:12px;height:12px;border-radius:2px;margin-right:5px;vertical-align:-1px;background:currentColor}
.legend li{display:flex;align-items:center}
.legend .c1::before{background:var(--c1)}.legend .c2::before{background:var(--c2)}.legend .c3::before{background:var(--c3)}.legend .c4::before{background:var(--c4)}
.legend .c5::before{background:var(--c5)}.legend .c6::before{background:var(--c6)}.legend .c7::before{background:var(--c7)}.legend .c8::before{background:var(--c8)}.legend .c9::before{background:var(--c9)}.legend .c10::before{background:var(--c10)}
.legend .faint::before{opacity:.5}
.legend .l0::before{background:var(--l0)}.legend .l1::before{background:var(--l1)}.legend .l2::before{background:var(--l2)}.legend .l3::before{background:var(--l3)}
.legend .l4::before{background:var(--l4)}.legend .l5::before{background:var(--l5)}
.legend .timed,.legend .requested,.legend .unknown{opacity:1}
.legend .timed::before{background:var(--timed);opacity:.5}.legend .requested::before{background:var(--requested);opacity:.5}.legend .unknown::before{background:var(--c9);opacity:.5}
.legend .noise::before{background:var(--noise)}
.legend .hatched::before{background:repeating-linear-gradient(135deg,var(--hatch) 0 1.5px,transparent 1.5px 4px)}
.readout{font-size:.84rem;color:var(--ink);min-height:1.5em;margin:4px 0 0;font-variant-numeric:tabular-nums}
.scale{position:absolute;opacity:0;width:1px;height:1px}
.scale+label{display:inline-block;border:1px solid var(--line);padding:2px 12px;font-size:.84rem;color:var(--soft);cursor:pointer;margin:4px 0}
.scale.lin+label{border-radius:5px 0 0 5px}.scale.log+label{border-radius:0 5px 5px 0;margin-left:-1px}
.scale:checked+label{background:var(--c1);border-color:var(--c1);color:var(--card)}
.scale:focus-visible+label{outline:2px solid var(--c1);outline-offset:2px}
.scale.lin:checked~.scroll g.log,.scale.log:checked~.scroll g.lin{display:none}
table{border-collapse:collapse;font-size:.86rem;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);font-size:.86rem;padding:0 0 6px}
th,td{text-align:left;padding:5px 10px 5px 0;border-bottom:1px solid var(--line);vertical-align:top}
th{font-weight:600}td{max-width:44em;overflow-wrap:break-word}
thead th{color:var(--soft);font-weight:500;white-space:nowrap}
.n{text-align:right;white-space:nowrap;padding:5px 10px 5px 4px}
.v{white-space:nowrap;font-weight:600}.v.impact{color:var(--c2)}.v.improved{color:var(--c1)}.v.within{color:var(--c3)}.v.inconclusive,.v.baseline{color:var(--soft);font-weight:400}
.heat td{text-align:center;border:2px solid var(--card);padding:7px 8px;white-space:nowrap}.heat thead th{text-align:center}
.scroll+.scroll,figure+.scroll,.pair+.scroll,.scroll+figure,.scroll+.pair{margin-top:16px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 16px;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
ul.warnings{margin:0 0 12px;padding-left:1.2em}ul.warnings li{margin:0 0 5px;overflow-wrap:anywhere}
footer{color:var(--soft);font-size:.84rem;margin-top:24px}
@media (max-width:600px){main{padding:14px 10px 32px}section{padding:12px}.verdict{font-size:1.05rem;padding:12px}dl{grid-template-columns:1fr;gap:0}dd{margin:0 0 8px}h1{font-size:1.3rem}h2{font-size:1.2rem}}
@page{margin:14mm}
@media print{:root{color-scheme:light;--bg:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--grid:#e2e2e2;
--c1:#0072b2;--c2:#d55e00;--c3:#009e73;--c4:#cc79a7;--c5:#e69f00;--c6:#56b4e9;--c7:#8c7a00;--c8:#6a51a3;--c9:#8b939b;--c10:#7a5c3e;
--l0:#6b7680;--l1:#56b4e9;--l2:#0072b2;--l3:#e69f00;--l4:#d55e00;--l5:#a1124f;--timed:#56b4e9;--requested:#e69f00;--noise:#b0306a;--hatch:#5a6068}
body{font-size:10.5pt;print-color-adjust:exact;-webkit-print-color-adjust:exact}main{max-width:none;padding:0}
nav,.readout,.scale+label:not(.scale:checked+label){display:none}
section{border:0;padding:0;margin:14px 0}figure,tr,.verdict,li{break-inside:avoid}h2,h3,figcaption,caption,thead{break-after:avoid}
.scroll{overflow:visible}svg.wide,.scroll>svg{min-width:0}table{font-size:8.5pt}th,td,.n{padding:3px 5px 3px 0}.n{white-space:normal}}
$css$
$page$;
COMMENT ON FUNCTION noisy_html_style() IS 'style sheet of the HTML report';

-- Values under the pointer, or by the arrow keys. Without it only these are missing.
CREATE FUNCTION noisy_html_script() RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $page$
    SELECT $js$
(function () {
	'use strict';
	document.querySelectorAll('figure.hover').forEach(function (figure) {
		var svg = figure.querySelector('svg'),
			readout = figure.querySelector('.readout'),
			data = JSON.parse(figure.querySelector('script').textContent),
			width = svg.viewBox.baseVal.width,
			height = svg.viewBox.baseVal.height,
			at = -1,
			cursor = document.createElementNS('http://www.w3.org/2000/svg', 'line');

		function show(i) {
			at = Math.max(0, Math.min(data.x.length - 1, i));
			cursor.setAttribute('x1', data.x[at]);
			cursor.setAttribute('x2', data.x[at]);
			cursor.style.display = '';
			readout.textContent = data.series.filter(function (s) {
				return s.values[at] !== null;
			}).map(function (s) {
				return s.name + ' ' + s.values[at] + (s.unit ? '\u00a0' + s.unit : '');
			}).join(' \u00b7 ');
		}
		cursor.setAttribute('class', 'cursor');
		cursor.setAttribute('y1', 0);
		cursor.setAttribute('y2', height - 24);
		cursor.style.display = 'none';
		svg.appendChild(cursor);
		readout.textContent = 'Point at the picture, or use the arrow keys in it, for values.';
		svg.setAttribute('tabindex', '0');
		svg.addEventListener('pointermove', function (event) {
			var box = svg.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * width;

			show(data.x.reduce(function (best, other, i) {
				return Math.abs(data.x[best] - x) > Math.abs(other - x) ? i : best;
			}, 0));
		});
		svg.addEventListener('pointerleave', function () {
			cursor.style.display = 'none';
		});
		svg.addEventListener('keydown', function (event) {
			var next = {ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: data.x.length - 1}[event.key];

			if (next === undefined) {
				return;
			}
			event.preventDefault();
			show(next);
		});
	});
}());
$js$
$page$;
COMMENT ON FUNCTION noisy_html_script() IS 'script of the HTML report';
