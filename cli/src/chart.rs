//! Line charts as SVG: something over a size in octets, on a logarithmic axis.
//!
//! ```text
//!  figures ─► lines ─► plotters ─► SVG text    of `warpline bench --plot`: on paper, with a legend in it
//!                                              of `warpline report`: transparent; the page's style sets its colours
//! ```

use std::ops::Range;

use plotters::prelude::*;

/// A colour for each width of the data path.
pub(crate) const COLORS: [RGBColor; 4] = [
    RGBColor(0x1b, 0x6c, 0xa8),
    RGBColor(0xd9, 0x73, 0x1a),
    RGBColor(0x3a, 0x8f, 0x3a),
    RGBColor(0xa8, 0x2d, 0x5e),
];

/// plotters cannot draw.
pub(crate) type DrawingError = Box<dyn std::error::Error>;

/// How a line is drawn, and its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stroke {
    Solid(u32),
    Dashed(u32),
}

/// A line through points.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// For the legend.
    pub name: String,
    pub color: RGBColor,
    pub stroke: Stroke,
    pub points: Vec<(f64, f64)>,
}

/// What surrounds the lines.
#[derive(Clone, Debug)]
pub(crate) struct Chart<'c> {
    pub caption: Option<&'c str>,
    /// Width and height in pixels.
    pub size: (u32, u32),
    /// On white, and not on whatever the page has.
    pub paper: bool,
    /// A legend inside.
    pub legend: bool,
    /// Ends of the axes; both ends of `x` are above zero.
    pub x: Range<f64>,
    pub y: Range<f64>,
    pub x_label: &'c str,
    pub y_label: &'c str,
    /// Size of all text, unless it is that of plotters.
    pub text: Option<u32>,
}

impl Chart<'_> {
    /// The chart as the text of an SVG file.
    pub(crate) fn draw(&self, lines: &[Line]) -> Result<String, DrawingError> {
        let mut text = String::new();
        self.draw_on(lines, SVGBackend::with_string(&mut text, self.size))?;
        Ok(text.trim_end().to_owned() + "\n")
    }

    fn draw_on(&self, lines: &[Line], backend: SVGBackend<'_>) -> Result<(), DrawingError> {
        let area = backend.into_drawing_area();
        if self.paper {
            area.fill(&WHITE)?;
        }
        let mut builder = ChartBuilder::on(&area);
        builder
            .margin(12)
            .x_label_area_size(40)
            .y_label_area_size(50);
        if let Some(caption) = self.caption {
            builder.caption(caption, ("sans-serif", 18));
        }
        let mut chart = builder.build_cartesian_2d(self.x.clone().log_scale(), self.y.clone())?;
        let mut mesh = chart.configure_mesh();
        if let Some(size) = self.text {
            // few labels, or those between the powers of ten touch each other
            mesh.x_labels(4)
                .label_style(("sans-serif", size))
                .axis_desc_style(("sans-serif", size));
        }
        mesh.x_desc(self.x_label)
            .y_desc(self.y_label)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .light_line_style(TRANSPARENT)
            .draw()?;
        for line in lines {
            let points = line.points.iter().copied();
            let (style, drawn) = match line.stroke {
                Stroke::Solid(width) => {
                    let style = line.color.stroke_width(width);
                    (style, chart.draw_series(LineSeries::new(points, style))?)
                }
                Stroke::Dashed(width) => {
                    let style = line.color.stroke_width(width);
                    let dashes = DashedLineSeries::new(points, 6, 4, style);
                    (style, chart.draw_series(dashes)?)
                }
            };
            drawn
                .label(&line.name)
                .legend(move |(x, y)| PathElement::new(vec![(x, y), (x + 18, y)], style));
        }
        if self.legend {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::LowerRight)
                .background_style(WHITE.mix(0.85))
                .border_style(BLACK)
                .draw()?;
        }
        area.present()?;
        Ok(())
    }
}
