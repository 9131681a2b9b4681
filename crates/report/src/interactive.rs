//! Traces and layouts for plotly, from the charts that were drawn.
//!
//! Written as JSON values: the crate's own types cannot hold a surface coloured by a second grid of numbers,
//! and a browser must be able to read a chart before the script is loaded. Colours of text and grid are set by
//! the page, which knows whether it is dark.

use serde_json::{Value, json};

use crate::draw::{
    BarChart, CHANGE_ENDS, Colours, LineChart, MatrixChart, SurfaceChart, level_colour, level_rank,
    series_colour,
};
use crate::number;

/// Cells of a heat map that get a text each.
const MOST_TOLD_CELLS: usize = 600;

/// plotly reads `<` in names as markup; an entity is shown as the character.
fn name(text: &str) -> String {
    crate::escape::markup(text)
}

fn tick_axis(values: &[u64], to_axis: fn(f64) -> f64) -> Value {
    let powers: Vec<&u64> = values.iter().filter(|value| value.is_power_of_two()).collect();
    let every = powers.len() / 8 + 1;
    let shown: Vec<u64> = powers.into_iter().copied().step_by(every).collect();
    json!({
        "tickvals": shown.iter().map(|v| to_axis(*v as f64)).collect::<Vec<_>>(),
        "ticktext": shown.iter().map(|v| machine::Bytes(*v).to_string()).collect::<Vec<_>>(),
    })
}

fn titled(mut axis: Value, title: &str) -> Value {
    axis["title"] = json!({ "text": title });
    axis
}

/// A line chart: one trace per curve with error bars, panels above each other.
pub(crate) fn lines(chart: &LineChart) -> Value {
    let mut traces = Vec::new();
    let mut shown: Vec<usize> = Vec::new();
    for (panel_index, panel) in chart.panels.iter().enumerate() {
        for series in &panel.series {
            let points = &series.points;
            let first = !shown.contains(&series.style);
            shown.push(series.style);
            let suffix = if panel_index == 0 { String::new() } else { (panel_index + 1).to_string() };
            traces.push(json!({
                "type": "scatter", "mode": "lines+markers", "name": name(&series.name),
                "legendgroup": series.style.to_string(), "showlegend": first,
                "x": points.iter().map(|p| p.x).collect::<Vec<_>>(),
                "y": points.iter().map(|p| p.y).collect::<Vec<_>>(),
                "xaxis": "x", "yaxis": format!("y{suffix}"),
                "error_y": {
                    "type": "data", "symmetric": false, "thickness": 1, "width": 2,
                    "array": points.iter().map(|p| (p.high - p.y).max(0.0)).collect::<Vec<_>>(),
                    "arrayminus": points.iter().map(|p| (p.y - p.low).max(0.0)).collect::<Vec<_>>(),
                },
                "line": { "color": series_colour(series.style), "width": 2 },
                "marker": {
                    "size": 6, "symbol": points.iter().map(|p| if p.doubtful { "circle-open" } else { "circle" }).collect::<Vec<_>>(),
                },
            }));
        }
    }
    let kind = |axis| if axis == crate::draw::Axis::Linear { "linear" } else { "log" };
    let mut x = titled(json!({ "type": kind(chart.x) }), chart.x_label);
    if chart.x == crate::draw::Axis::Bytes {
        x["tickvals"] = json!((4..44).step_by(2).map(|power| 1_u64 << power).collect::<Vec<_>>());
        x["ticktext"] =
            json!((4..44).step_by(2).map(|power| machine::Bytes(1 << power).to_string()).collect::<Vec<_>>());
    }
    let mut layout = json!({ "xaxis": x, "hovermode": "closest", "height": 240 + 260 * chart.panels.len() });
    let count = chart.panels.len().max(1) as f64;
    for (index, panel) in chart.panels.iter().enumerate() {
        let suffix = if index == 0 { String::new() } else { (index + 1).to_string() };
        let top = 1.0 - index as f64 / count;
        let title = if panel.title.is_empty() {
            chart.y_label.to_owned()
        } else {
            format!("{}<br>{}", name(&panel.title), chart.y_label)
        };
        let mut axis = titled(json!({ "type": kind(chart.y) }), &title);
        if chart.y == crate::draw::Axis::Decades {
            let ticks: Vec<f64> =
                (-4..7).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power))).collect();
            axis["ticktext"] = json!(ticks.iter().map(|v| number::short(*v)).collect::<Vec<_>>());
            axis["tickvals"] = json!(ticks);
        }
        axis["domain"] = json!([
            top - 1.0 / count + if index + 1 < chart.panels.len() { 0.03 } else { 0.0 },
            top - if index > 0 { 0.03 } else { 0.0 }
        ]);
        layout[format!("yaxis{suffix}")] = axis;
    }
    if chart.panels.len() > 1 {
        layout["xaxis"]["anchor"] = json!(format!("y{}", chart.panels.len()));
    }
    json!({ "data": traces, "layout": layout })
}

/// Horizontal bars with whiskers.
pub(crate) fn bars(chart: &BarChart) -> Value {
    let traces: Vec<Value> = chart
        .groups
        .iter()
        .map(|group| {
            let rows = &group.rows;
            json!({
                "type": "bar", "orientation": "h", "name": name(&group.title),
                "y": rows.iter().map(|row| name(&row.name)).collect::<Vec<_>>(),
                "x": rows.iter().map(|row| row.value).collect::<Vec<_>>(),
                "text": rows.iter().map(|row| name(&row.told)).collect::<Vec<_>>(),
                "error_x": {
                    "type": "data", "symmetric": false, "thickness": 1,
                    "array": rows.iter().map(|row| (row.high - row.value).max(0.0)).collect::<Vec<_>>(),
                    "arrayminus": rows.iter().map(|row| (row.value - row.low).max(0.0)).collect::<Vec<_>>(),
                },
                "marker": {
                    "color": series_colour(group.style),
                    "pattern": { "shape": rows.iter().map(|row| if row.doubtful { "/" } else { "" }).collect::<Vec<_>>() },
                },
                "textposition": "none",
            })
        })
        .collect();
    let rows: usize = chart.groups.iter().map(|group| group.rows.len()).sum();
    let layout = json!({
        "barmode": "group", "height": (160 + 16 * rows).clamp(360, 2400),
        "xaxis": titled(json!({ "rangemode": "tozero" }), chart.x_label),
        "yaxis": { "autorange": "reversed", "automargin": true, "type": "category" },
    });
    json!({ "data": traces, "layout": layout })
}

/// Heat maps side by side or above each other, with one colour scale.
pub(crate) fn matrices(chart: &MatrixChart) -> Value {
    let columns = chart.panels_per_row.clamp(1, chart.panels.len().max(1));
    let rows = chart.panels.len().div_ceil(columns).max(1);
    let mut layout = json!({
        "grid": { "rows": rows, "columns": columns, "pattern": "independent", "ygap": 0.35, "xgap": 0.18 },
        "height": rows * if chart.square { 340 } else { 360 } + 80,
        "coloraxis": {
            "colorscale": "Viridis",
            "colorbar": { "title": { "text": if chart.logarithmic { "log10 ns" } else { chart.unit } } },
        },
    });
    let axis = &mut layout["coloraxis"];
    match chart.colours {
        Colours::Size { least: None } => {}
        Colours::Size { least: Some(least) } => {
            let values = chart.panels.iter().flat_map(|panel| &panel.cells).map(|cell| cell.value);
            axis["cmin"] = json!(least);
            axis["cmax"] = json!(values.filter(|v| v.is_finite()).fold(least, f64::max));
        }
        Colours::Change { reach, .. } => {
            let [faster, slower] = CHANGE_ENDS;
            (axis["cmin"], axis["cmax"]) = (json!(-reach), json!(reach));
            // The page puts the theme's colour in the middle.
            axis["colorscale"] = json!([[0, faster], [0.5, "neutral"], [1, slower]]);
        }
    }
    let mut traces = Vec::new();
    for (index, panel) in chart.panels.iter().enumerate() {
        let suffix = if index == 0 { String::new() } else { (index + 1).to_string() };
        let empty: Vec<Vec<Option<f64>>> = vec![vec![None; panel.columns.len()]; panel.rows.len()];
        let (mut z, mut text) = (empty, vec![vec![String::new(); panel.columns.len()]; panel.rows.len()]);
        for cell in &panel.cells {
            let usable =
                if chart.logarithmic { number::positive(cell.value) } else { number::finite(cell.value) };
            z[cell.row][cell.column] = usable.map(|v| if chart.logarithmic { v.log10() } else { v });
            let doubt = if cell.doubtful { ", unstable or wide" } else { "" };
            text[cell.row][cell.column] = match cell.told.as_str() {
                "" => format!("{}{}{doubt}", number::short(cell.value), chart.unit),
                told => told.to_owned(),
            };
        }
        let labels = |names: &[String]| names.iter().map(|label| name(label)).collect::<Vec<_>>();
        // Beyond this the texts would outweigh the rest of the page; the number itself is shown instead.
        let told = panel.cells.len() <= MOST_TOLD_CELLS;
        let value = if told { "%{text}" } else { "%{z:.3g}" };
        let place = format!("{} %{{y}}, {} %{{x}}: ", chart.row_label, chart.column_label);
        traces.push(json!({
            "type": "heatmap", "x": labels(&panel.columns), "y": labels(&panel.rows), "z": z, "text": if told { json!(text) } else { Value::Null },
            "xaxis": format!("x{suffix}"), "yaxis": format!("y{suffix}"), "coloraxis": "coloraxis",
            "hovertemplate": format!("{place}{value}<extra></extra>"),
            "hoverongaps": false,
        }));
        let title = format!("{}<br>{}", name(&panel.title), chart.column_label);
        layout[format!("xaxis{suffix}")] = titled(json!({ "type": "category", "automargin": true }), &title);
        let row_label = if index % columns == 0 { chart.row_label } else { "" };
        let mut y = titled(json!({ "type": "category", "automargin": true }), row_label);
        if chart.square {
            y["autorange"] = json!("reversed");
        }
        layout[format!("yaxis{suffix}")] = y;
    }
    json!({ "data": traces, "layout": layout })
}

/// The surface: x and y as log2 of bytes, z as log10 of ns, colour by level in steps.
pub(crate) fn surface(chart: &SurfaceChart) -> Value {
    let of = |key: fn(&crate::draw::SurfaceCell) -> u64| {
        let mut values: Vec<u64> = chart.cells.iter().map(key).filter(|value| *value > 0).collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    let (blocks, strides) = (of(|c| c.block_bytes), of(|c| c.stride_bytes));
    let mut levels: Vec<&str> = chart.cells.iter().map(|cell| cell.level.as_str()).collect();
    levels.sort_by_key(|level| (level_rank(level), (*level).to_owned()));
    levels.dedup();
    let mut z: Vec<Vec<Option<f64>>> = vec![vec![None; strides.len()]; blocks.len()];
    let mut colour = z.clone();
    let mut text = vec![vec![String::new(); strides.len()]; blocks.len()];
    for cell in &chart.cells {
        if let (Ok(row), Ok(column)) =
            (blocks.binary_search(&cell.block_bytes), strides.binary_search(&cell.stride_bytes))
        {
            z[row][column] = number::positive(cell.ns).map(f64::log10);
            colour[row][column] = levels.iter().position(|level| *level == cell.level).map(|at| at as f64);
            let doubt = if cell.doubtful { ", unstable or wide" } else { "" };
            text[row][column] = format!(
                "block {}, stride {}: {} ns, {}{doubt}",
                machine::Bytes(cell.block_bytes),
                machine::Bytes(cell.stride_bytes),
                number::short(cell.ns),
                name(&cell.level)
            );
        }
    }
    let count = levels.len().max(1) as f64;
    let steps: Vec<Value> = levels
        .iter()
        .enumerate()
        .flat_map(|(at, level)| [0.0, 1.0].map(|end| json!([(at as f64 + end) / count, level_colour(level)])))
        .collect();
    let nanoseconds: Vec<f64> =
        (-1..5).flat_map(|power| [1.0, 2.0, 5.0].map(|part| part * 10f64.powi(power))).collect();
    let trace = json!({
        "type": "surface",
        "x": strides.iter().map(|v| (*v as f64).log2()).collect::<Vec<_>>(),
        "y": blocks.iter().map(|v| (*v as f64).log2()).collect::<Vec<_>>(),
        "z": z, "surfacecolor": colour, "cmin": -0.5, "cmax": count - 0.5, "colorscale": steps,
        "colorbar": {
            "tickvals": (0..levels.len()).collect::<Vec<_>>(), "ticktext": levels.iter().map(|l| name(l)).collect::<Vec<_>>(),
            "len": 0.6, "thickness": 14,
        },
        "text": text, "hoverinfo": "text", "connectgaps": false,
        "contours": { "x": { "show": true, "color": "#333", "width": 1 }, "y": { "show": true, "color": "#333", "width": 1 } },
    });
    let log2 = |v: f64| v.log2();
    let scene = json!({
        "xaxis": titled(tick_axis(&strides, log2), "stride"),
        "yaxis": titled(tick_axis(&blocks, log2), "block size"),
        "zaxis": {
            "title": { "text": "ns" },
            "tickvals": nanoseconds.iter().map(|v| v.log10()).collect::<Vec<_>>(),
            "ticktext": nanoseconds.iter().map(|v| number::short(*v)).collect::<Vec<_>>(),
        },
        "camera": { "eye": { "x": -1.6, "y": -1.6, "z": 0.9 } },
        "aspectratio": { "x": 1.1, "y": 1.3, "z": 0.75 },
    });
    json!({ "data": [trace], "layout": { "scene": scene, "height": 620 } })
}
