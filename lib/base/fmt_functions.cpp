// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The functions of fmt, compiled from its headers. The program is therefore not linked with libfmt.so, which needs the shared C++ runtime;
// loading the two would take longer than most commands run. Only built with versions of fmt that meson.build names, and not with
// -Dstatic_runtime=false.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
#if FMT_VERSION < 120000
namespace detail {
#endif
template FMT_API locale_ref::locale_ref(const std::locale& loc);
template FMT_API auto locale_ref::get<std::locale>() const -> std::locale;
#if FMT_VERSION >= 120000
namespace detail {
#endif

template FMT_API auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template FMT_API auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;

template FMT_API auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template FMT_API auto decimal_point_impl(locale_ref) -> char;
template FMT_API void buffer<char>::append(const char*, const char*);
#if FMT_VERSION < 120000
template FMT_API void vformat_to(buffer<char>&, string_view, basic_format_args<format_context>, locale_ref);
#endif

}  // namespace detail
FMT_END_NAMESPACE
