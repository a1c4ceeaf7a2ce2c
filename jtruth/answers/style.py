"""How a page looks: light, dark and on paper, with the fonts that the reader has."""

_LIGHT = "--fg:#1a1c1e;--soft:#5d646b;--bg:#fff;--card:#f4f6f8;--line:#d6dbe0;--blue:#0072b2;--bad:#b3261e;--open:#8a5a00;--good:#1b6e3c;--cross:#c2410c"  # noqa: E501
_DARK = "--fg:#e6e8ea;--soft:#a3abb3;--bg:#14171a;--card:#1e2226;--line:#3a4148;--blue:#58b4e8;--bad:#ff8a80;--open:#f0b95a;--good:#7bd6a0;--cross:#ff9d5c"  # noqa: E501

_SHADES = "".join(
    f".w{k}{{background:color-mix(in srgb,var(--blue) {5 * k}%,transparent)}}" for k in range(1, 11)
)

STYLE = f"""
:root{{color-scheme:light dark;{_LIGHT}}}
@media (prefers-color-scheme:dark){{:root{{{_DARK}}}}}
*{{box-sizing:border-box}}
body{{margin:0 auto;padding:2rem 1.2rem;max-width:60rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}}
h1{{font-size:1.5rem;line-height:1.25;margin:0 0 .3rem}}
h2{{font-size:1.1rem;margin:2.2rem 0 .5rem;break-after:avoid}}
p{{margin:.4rem 0}}
.about,.note,.facts{{color:var(--soft);font-size:.88rem}}
.answer{{font-size:1.15rem;padding:.8rem 1rem;border-left:.3rem solid var(--blue);background:var(--card)}}
.doubt{{padding:.6rem 1rem;border-left:.3rem solid var(--bad);background:var(--card);font-weight:600}}
.wide{{overflow-x:auto}}
table{{border-collapse:collapse;width:100%;font-size:.92rem;font-variant-numeric:tabular-nums}}
th,td{{padding:.22rem .5rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:middle}}
th{{font-weight:600;color:var(--soft)}}
td:first-child,th:first-child{{text-align:left;overflow-wrap:anywhere;color:var(--fg)}}
.bars td.pic,.bars th.pic{{text-align:left;padding:0 .4rem;width:19rem}}
.bars svg{{display:block;width:18rem;height:1.6rem}}
.strong td{{font-weight:600}}
svg{{color:var(--fg)}}
.axis{{stroke:var(--line);stroke-width:1}}
.tick{{fill:var(--soft);font-size:11px;font-family:inherit}}
.bar{{fill:var(--blue);opacity:.45}}
.dot{{fill:var(--blue);stroke:var(--bg);stroke-width:1.5}}
.ring{{fill:var(--bg);stroke:var(--blue);stroke-width:2}}
.cross{{stroke:var(--cross);stroke-width:2;fill:none}}
.chart{{width:100%;max-width:34rem;height:auto;display:block}}
.s0{{--c:var(--blue)}}.s1{{--c:var(--cross)}}.s2{{--c:var(--good)}}.s3{{--c:var(--open)}}
.s0 path,.s1 path,.s2 path,.s3 path{{stroke:var(--c);fill:none;stroke-width:2}}
.s1 path.line{{stroke-dasharray:7 4}}.s2 path.line{{stroke-dasharray:2 4}}
.s3 path.line{{stroke-dasharray:9 3 2 3}}
.s0 circle,.s1 circle,.s2 circle,.s3 circle{{fill:var(--c)}}
.s1 circle,.s3 circle{{fill:var(--bg);stroke:var(--c);stroke-width:2}}
.diagonal{{stroke:var(--soft);stroke-width:1.5;stroke-dasharray:4 3}}
.s0 polygon,.s1 polygon,.s2 polygon,.s3 polygon{{fill:var(--c);opacity:.18}}
.matrix td{{text-align:right;white-space:nowrap}}.matrix td:first-child{{text-align:left}}
.matrix tr>:first-child{{max-width:12rem}}
{_SHADES}
ul{{margin:.3rem 0;padding:0;list-style:none}}
li{{margin:.35rem 0;padding:.35rem .7rem;border-left:.25rem solid var(--line);overflow-wrap:anywhere;
break-inside:avoid}}
.bad{{border-color:var(--bad)}}.open{{border-color:var(--open)}}.good{{border-color:var(--good)}}
.tag{{font-weight:600}}.bad .tag{{color:var(--bad)}}
.open .tag{{color:var(--open)}}.good .tag{{color:var(--good)}}
dl{{display:grid;grid-template-columns:max-content 1fr;gap:.15rem .9rem;margin:.3rem 0}}
dt{{font-weight:600}}dd{{margin:0;overflow-wrap:anywhere}}
code{{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.95em}}
@media print{{:root{{color-scheme:light;{_LIGHT}}}body{{padding:0;max-width:none;font-size:11px}}
tr,svg,.answer,.doubt{{break-inside:avoid}}
*{{-webkit-print-color-adjust:exact;print-color-adjust:exact}}.wide{{overflow:visible}}}}
@media (max-width:40rem){{.bars td.pic,.bars th.pic{{width:9rem}}.bars svg{{width:9rem}}}}
""".strip()
